#include <levin/modules/images/vision_transformer.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_upsample_bicubic2d_aa.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/upsample_bicubic2d.h>
#include <levin/core/system/error.h>
#include <levin/modules/activation_checkpoint.h>
#include <levin/modules/images/drop_path.h>
#include <levin/modules/parallel/sharding/shard_unit.h>
#include <levin/modules/transformers/register_path.h>

#include <memory>
#include <vector>

namespace levin::nn {
namespace {

at::Tensor dropped(const at::Tensor& x, double rate, bool training) {
  return rate > 0 ? at::dropout(x, rate, training) : x;
}

/// Attention and a feed-forward network, each with a norm before and a residual connection.
class VisionBlock : public torch::nn::Module, public Checkpointable, public ShardUnit {
 public:
  VisionBlock(PretrainedParts& parts, const std::string& prefix, const VisionTransformerConfig& config, double rate)
      : torch::nn::Module("VisionBlock"), config_(config), drop_path_(rate) {
    const PartPlace place = {*this, prefix};
    const VisionTransformerNames& names = config.names;
    const int64_t hidden = config.hidden;
    const bool bias = config.query_key_value_bias;
    norm_before_ = parts.layer_norm(place, names.norm_before, hidden, config.norm_eps);
    if (!names.fused.empty()) {
      projections_ = {parts.linear(place, names.fused, hidden, 3 * hidden, bias)};
    } else {
      for (const std::string& name : {names.query, names.key, names.value})
        projections_.push_back(parts.linear(place, name, hidden, hidden, bias));
    }
    output_ = parts.linear(place, names.output, hidden, hidden);
    if (!names.attention_scale.empty()) attention_scale_ = parts.parameter(place, names.attention_scale, {hidden});
    norm_after_ = parts.layer_norm(place, names.norm_after, hidden, config.norm_eps);
    up_ = parts.linear(place, names.up, hidden, config.intermediate);
    down_ = parts.linear(place, names.down, config.intermediate, hidden);
    if (!names.feed_forward_scale.empty())
      feed_forward_scale_ = parts.parameter(place, names.feed_forward_scale, {hidden});
  }

  /// Maps `x` [batch, tokens, hidden] to the same shape.
  at::Tensor forward(const at::Tensor& x) {
    return checkpointed([this](const at::Tensor& input) { return compute(input); }, x);
  }

 private:
  at::Tensor compute(const at::Tensor& x) {
    const at::Tensor attended = x + addend(attend(norm_before_->forward(x)), attention_scale_);
    const at::Tensor wide = activated(up_->forward(norm_after_->forward(attended)), config_.activation);
    return attended + addend(down_->forward(wide), feed_forward_scale_);
  }

  at::Tensor addend(const at::Tensor& computed, const at::Tensor& scale) const {
    const at::Tensor kept = dropped(computed, config_.hidden_dropout, is_training());
    return drop_path(scale.defined() ? kept * scale : kept, drop_path_, is_training());
  }

  at::Tensor attend(const at::Tensor& x) {
    std::vector<at::Tensor> each;
    for (torch::nn::Linear& projection : projections_)
      for (const at::Tensor& one : projection->forward(x).split(config_.hidden, -1))
        each.push_back(one.unflatten(-1, {config_.heads, config_.hidden / config_.heads}).transpose(1, 2));
    const double rate = is_training() ? config_.attention_dropout : 0.0;
    const at::Tensor attended = at::scaled_dot_product_attention(each[0], each[1], each[2], {}, rate);
    return output_->forward(attended.transpose(1, 2).flatten(2));
  }

  VisionTransformerConfig config_;
  double drop_path_;
  torch::nn::LayerNorm norm_before_{nullptr}, norm_after_{nullptr};
  std::vector<torch::nn::Linear> projections_ = {};
  torch::nn::Linear output_{nullptr}, up_{nullptr}, down_{nullptr};
  at::Tensor attention_scale_ = {}, feed_forward_scale_ = {};
};

struct VisionParts {
  torch::nn::Conv2d patches{nullptr};
  std::vector<at::Tensor> tokens = {};
  at::Tensor positions = {};
  std::vector<std::shared_ptr<VisionBlock>> blocks = {};
  torch::nn::LayerNorm norm{nullptr};
};

VisionParts make_parts(const VisionTransformerConfig& config, PretrainedParts& parts, torch::nn::Module& module) {
  const VisionTransformerNames& names = config.names;
  const PartPlace place = {module};
  VisionParts made;
  for (const std::string& token : {names.class_token, names.distillation_token})
    if (!token.empty()) made.tokens.push_back(parts.parameter(place, token, {1, 1, config.hidden}));
  const int64_t patches = (config.image[0] / config.patch[0]) * (config.image[1] / config.patch[1]);
  made.positions =
      parts.parameter(place, names.positions, {1, patches + static_cast<int64_t>(made.tokens.size()), config.hidden});
  made.patches = parts.convolution(place, names.patches,
                                   {.in = config.channels,
                                    .out = config.hidden,
                                    .kernel_height = config.patch[0],
                                    .kernel_width = config.patch[1],
                                    .stride_height = config.patch[0],
                                    .stride_width = config.patch[1]});
  const std::vector<double> rates = drop_path_rates(config.drop_path, config.layers);
  for (size_t i = 0; i < rates.size(); ++i) {
    const std::string path = names.blocks + "." + std::to_string(i);
    made.blocks.push_back(std::make_shared<VisionBlock>(parts, path + ".", config, rates[i]));
    register_path_of(module, path, made.blocks.back());
  }
  made.norm = parts.layer_norm(place, names.norm, config.hidden, config.norm_eps);
  return made;
}

/// Returns the positions of `rows` x `columns` patches, behind those of the other tokens.
at::Tensor positions_of(const VisionTransformerConfig& config, const VisionParts& made, int64_t rows, int64_t columns) {
  const int64_t own_rows = config.image[0] / config.patch[0], own_columns = config.image[1] / config.patch[1];
  if (rows == own_rows && columns == own_columns) return made.positions;
  const auto prefix = static_cast<int64_t>(made.tokens.size());
  const at::ScalarType type = made.positions.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor of_patches = made.positions.slice(1, prefix).to(type);
  const at::Tensor grid = of_patches.unflatten(1, {own_rows, own_columns}).permute({0, 3, 1, 2});
  const at::Tensor resized = config.antialiased_positions
                                 ? at::_upsample_bicubic2d_aa(grid, {rows, columns}, /*align_corners=*/false)
                                 : at::upsample_bicubic2d(grid, {rows, columns}, /*align_corners=*/false);
  return at::cat(
      {made.positions.slice(1, 0, prefix), resized.flatten(2).transpose(1, 2).to(made.positions.scalar_type())}, 1);
}

at::Tensor vision_features(const VisionTransformerConfig& config, VisionParts& made, const at::Tensor& images,
                           bool training) {
  if (images.size(2) < config.patch[0] || images.size(3) < config.patch[1])
    throw UsageError("model: images of ", images.size(2), " x ", images.size(3), " are smaller than a patch of ",
                     config.patch[0], " x ", config.patch[1]);
  std::vector<at::Tensor> tokens;
  for (const at::Tensor& token : made.tokens) tokens.push_back(token.expand({images.size(0), -1, -1}));
  const at::Tensor patches = made.patches->forward(images);
  tokens.push_back(patches.flatten(2).transpose(1, 2));
  const at::Tensor positions = positions_of(config, made, patches.size(2), patches.size(3));
  at::Tensor x = dropped(at::cat(tokens, 1) + positions, config.hidden_dropout, training);
  for (const auto& block : made.blocks) x = block->forward(x);
  if (config.pool == TokenPool::First) return made.norm->forward(x).select(1, 0);
  const auto prefix = static_cast<int64_t>(made.tokens.size());
  return made.norm->forward(x.narrow(1, prefix, x.size(1) - prefix).mean(1));
}

}  // namespace

ImageNetworkMaker vision_transformer(const VisionTransformerConfig& config) {
  return [config](PretrainedParts& parts, torch::nn::Module& module) -> ImageFeatures {
    const auto made = std::make_shared<VisionParts>(make_parts(config, parts, module));
    return [config, made, module_of = &module](const at::Tensor& images) {
      return vision_features(config, *made, images, module_of->is_training());
    };
  };
}

}  // namespace levin::nn
