#include <levin/modules/images/convnext.h>
#include <ATen/TensorOperators.h>
#include <levin/modules/activation_checkpoint.h>
#include <levin/modules/images/drop_path.h>
#include <levin/modules/parallel/sharding/shard_unit.h>
#include <levin/modules/transformers/register_path.h>

#include <memory>
#include <numeric>

namespace levin::nn {
namespace {

constexpr double kResponseEps = 1e-6;

/// Normalizes the channels of `x` [batch, channels, height, width].
at::Tensor normed_channels(torch::nn::LayerNorm& norm, const at::Tensor& x) {
  return norm->forward(x.permute({0, 2, 3, 1})).permute({0, 3, 1, 2});
}

/// A convolution of each channel, a norm, and two layers over the channels, with a residual connection.
class ConvNextBlock : public torch::nn::Module, public Checkpointable, public ShardUnit {
 public:
  ConvNextBlock(PretrainedParts& parts, const std::string& prefix, const ConvNextConfig& config, int64_t width,
                double rate)
      : torch::nn::Module("ConvNextBlock"), activation_(config.activation), drop_path_(rate) {
    const PartPlace place = {*this, prefix};
    const ConvNextNames& names = config.names;
    if (!names.scale.empty()) scale_ = parts.parameter(place, names.scale, {width});
    convolution_ = parts.convolution(
        place, names.convolution,
        {.in = width, .out = width, .kernel_height = 7, .kernel_width = 7, .padding = 3, .groups = width});
    norm_ = parts.layer_norm(place, names.block_norm, width, config.norm_eps);
    const int64_t wide = 4 * width;
    if (config.convolves) {
      up_convolution_ = parts.convolution(place, names.up, {.in = width, .out = wide});
      down_convolution_ = parts.convolution(place, names.down, {.in = wide, .out = width});
    } else {
      up_ = parts.linear(place, names.up, width, wide);
      down_ = parts.linear(place, names.down, wide, width);
    }
    if (!config.has_response_norm) return;
    std::vector<int64_t> sizes(static_cast<size_t>(config.response_dimensions), 1);
    sizes.back() = wide;
    response_weight_ = parts.parameter(place, names.response + ".weight", sizes);
    response_bias_ = parts.parameter(place, names.response + ".bias", sizes);
  }

  at::Tensor forward(const at::Tensor& x) {
    return checkpointed([this](const at::Tensor& input) { return compute(input); }, x);
  }

 private:
  /// From and to [batch, height, width, channels].
  at::Tensor layered(const at::Tensor& x) {
    if (up_) return down_->forward(responded(activated(up_->forward(x), activation_)));
    const auto as_image = [](const at::Tensor& one) { return one.permute({0, 3, 1, 2}); };
    const auto as_rows = [](const at::Tensor& one) { return one.permute({0, 2, 3, 1}); };
    const at::Tensor wide = as_rows(activated(up_convolution_->forward(as_image(x)), activation_));
    return as_rows(down_convolution_->forward(as_image(responded(wide))));
  }

  /// Divides the norm of each channel over the image by their mean, and multiplies `x` by that.
  at::Tensor responded(const at::Tensor& x) const {
    if (!response_weight_.defined()) return x;
    const at::Tensor norms = x.norm(2, {1, 2}, /*keepdim=*/true);
    const at::Tensor relative = norms / (norms.mean(-1, /*keepdim=*/true) + kResponseEps);
    return response_weight_ * (x * relative) + response_bias_ + x;
  }

  at::Tensor compute(const at::Tensor& x) {
    at::Tensor inner = layered(norm_->forward(convolution_->forward(x).permute({0, 2, 3, 1})));
    if (scale_.defined()) inner = inner * scale_;
    return x + drop_path(inner.permute({0, 3, 1, 2}), drop_path_, is_training());
  }

  ImageActivation activation_;
  double drop_path_;
  at::Tensor scale_ = {}, response_weight_ = {}, response_bias_ = {};
  torch::nn::Conv2d convolution_{nullptr}, up_convolution_{nullptr}, down_convolution_{nullptr};
  torch::nn::LayerNorm norm_{nullptr};
  torch::nn::Linear up_{nullptr}, down_{nullptr};
};

struct ConvNextStage {
  torch::nn::LayerNorm norm{nullptr};
  torch::nn::Conv2d halving{nullptr};  ///< null in the first stage
  std::vector<std::shared_ptr<ConvNextBlock>> blocks = {};
};

struct ConvNextParts {
  torch::nn::Conv2d stem{nullptr};
  torch::nn::LayerNorm stem_norm{nullptr};
  std::vector<ConvNextStage> stages = {};
  torch::nn::LayerNorm norm{nullptr};
};

at::Tensor convnext_features(ConvNextParts& made, const at::Tensor& images) {
  at::Tensor x = normed_channels(made.stem_norm, made.stem->forward(images));
  for (ConvNextStage& stage : made.stages) {
    if (stage.halving) x = stage.halving->forward(normed_channels(stage.norm, x));
    for (const auto& block : stage.blocks) x = block->forward(x);
  }
  return made.norm->forward(x.mean({2, 3}));
}

}  // namespace

ImageNetworkMaker convnext(const ConvNextConfig& config) {
  return [config](PretrainedParts& parts, torch::nn::Module& module) -> ImageFeatures {
    const ConvNextNames& names = config.names;
    const PartPlace place = {module};
    const auto made = std::make_shared<ConvNextParts>();
    made->stem = parts.convolution(place, names.stem_convolution,
                                   {.in = config.channels,
                                    .out = config.widths[0],
                                    .kernel_height = config.patch,
                                    .kernel_width = config.patch,
                                    .stride_height = config.patch,
                                    .stride_width = config.patch});
    made->stem_norm = parts.layer_norm(place, names.stem_norm, config.widths[0], config.norm_eps);
    const std::vector<double> rates =
        drop_path_rates(config.drop_path, std::accumulate(config.depths.begin(), config.depths.end(), int64_t{0}));
    auto rate = rates.begin();
    for (size_t i = 0; i < config.depths.size(); ++i) {
      ConvNextStage& stage = made->stages.emplace_back();
      const std::string path = names.stages + "." + std::to_string(i) + ".";
      const int64_t width = config.widths[i];
      if (i > 0) {
        stage.norm = parts.layer_norm(place, path + names.downsample + ".0", config.widths[i - 1], config.norm_eps);
        stage.halving = parts.convolution(place, path + names.downsample + ".1",
                                          {.in = config.widths[i - 1],
                                           .out = width,
                                           .kernel_height = 2,
                                           .kernel_width = 2,
                                           .stride_height = 2,
                                           .stride_width = 2});
      }
      for (int64_t block = 0; block < config.depths[i]; ++block) {
        const std::string of_block = path + names.blocks + "." + std::to_string(block);
        stage.blocks.push_back(std::make_shared<ConvNextBlock>(parts, of_block + ".", config, width, *rate++));
        register_path_of(module, of_block, stage.blocks.back());
      }
    }
    made->norm = parts.layer_norm(place, names.norm, config.widths.back(), config.last_norm_eps);
    return [made](const at::Tensor& images) { return convnext_features(*made, images); };
  };
}

}  // namespace levin::nn
