#include <levin/modules/transformers/decoder_feed_forward.h>
#include <ATen/TensorOperators.h>
#include <levin/modules/transformers/fused/fused_operators.h>

#include <optional>
#include <vector>

namespace levin::nn {
namespace {

at::Tensor gated_by(const at::Tensor& gate, const at::Tensor& up, Activation activation) {
  std::optional<at::Tensor> fused;
  if (fused::can_fuse(gate)) fused = fused::gated(gate, up, activation);
  return fused ? *fused : activated(gate, activation) * up;
}

}  // namespace

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
    return down_->forward(gated_by(halves[0], halves[1], activation_));
  }
  if (gate_) return down_->forward(gated_by(gate_->forward(x), up_->forward(x), activation_));
  return down_->forward(activated(up_->forward(x), activation_));
}

}  // namespace levin::nn
