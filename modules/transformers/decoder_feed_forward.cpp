#include <levin/modules/transformers/decoder_feed_forward.h>
#include <ATen/TensorOperators.h>

#include <vector>

namespace levin::nn {

DecoderFeedForward::DecoderFeedForward(const DecoderConfig& config)
    : torch::nn::Module("DecoderFeedForward"), activation_(config.activation) {
  const auto column = [&](int64_t blocks) {
    return parallel::ColumnLinear(parallel::ColumnLinearOptions{.in_features = config.hidden,
                                                                .out_features = blocks * config.intermediate,
                                                                .bias = config.feed_forward_bias,
                                                                .blocks = blocks,
                                                                .initialized = false});
  };
  for (const auto& [role, name] : config.parts.feed_forward) {
    if (role == Role::Gate)
      gate_ = register_module(name, column(1));
    else if (role == Role::Up)
      up_ = register_module(name, column(1));
    else if (role == Role::GateUp)
      gate_up_ = register_module(name, column(2));
    else
      down_ = register_module(name, parallel::RowLinear(parallel::RowLinearOptions{.in_features = config.intermediate,
                                                                                   .out_features = config.hidden,
                                                                                   .bias = config.feed_forward_bias,
                                                                                   .initialized = false}));
  }
}

at::Tensor DecoderFeedForward::forward(const at::Tensor& x) {
  if (gate_up_) {
    const std::vector<at::Tensor> halves = gate_up_->forward(x).chunk(2, -1);
    return down_->forward(activated(halves[0], activation_) * halves[1]);
  }
  if (gate_) return down_->forward(activated(gate_->forward(x), activation_) * up_->forward(x));
  return down_->forward(activated(up_->forward(x), activation_));
}

}  // namespace levin::nn
