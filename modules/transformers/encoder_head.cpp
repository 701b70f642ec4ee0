#include <levin/modules/transformers/encoder_head.h>
#include <ATen/ops/gelu.h>
#include <levin/modules/transformers/register_path.h>

namespace levin::nn {
namespace {

at::Tensor head_activated(const at::Tensor& x, HeadActivation activation) {
  if (activation == HeadActivation::Tanh) return x.tanh();
  return activation == HeadActivation::Gelu ? at::gelu(x) : x.relu();
}

}  // namespace

EncoderHead::EncoderHead(torch::nn::Module& model, const EncoderConfig& config) : config_(config.sequence_head) {
  dense_ =
      register_path(model, config_.dense,
                    torch::nn::Linear(torch::nn::LinearOptions(config.hidden, config.hidden).bias(config_.dense_bias)));
  if (config_.norm.empty()) return;
  norm_ = register_path(model, config_.norm, EncoderNorm(config.hidden, config.norm_eps, config.rotary->norm_bias));
}

at::Tensor EncoderHead::forward(const at::Tensor& x) {
  const at::Tensor result = head_activated(dense_->forward(x), config_.activation);
  return norm_ ? norm_->forward(result) : result;
}

std::vector<std::string> EncoderHead::names() const {
  std::vector<std::string> names = {config_.dense};
  if (!config_.norm.empty()) names.push_back(config_.norm);
  return names;
}

}  // namespace levin::nn
