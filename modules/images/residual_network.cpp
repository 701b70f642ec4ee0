#include <levin/modules/images/residual_network.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/max_pool2d.h>
#include <levin/modules/images/conv_norm.h>
#include <levin/modules/parallel/sharding/shard_unit.h>
#include <levin/modules/transformers/register_path.h>

#include <memory>
#include <optional>
#include <string>

namespace levin::nn {
namespace {

struct ResidualShape {
  int64_t in = 0, out = 0, stride = 1;
};

class ResidualBlock : public torch::nn::Module, public ShardUnit {
 public:
  ResidualBlock(PretrainedParts& parts, const std::string& prefix, const ResidualNetworkConfig& config,
                const ResidualShape& shape)
      : torch::nn::Module("ResidualBlock"), activation_(config.activation) {
    const PartPlace place = {*this, prefix};
    const bool is_timm = config.names == ImageNames::Timm;
    const auto add = [&](const ConvNormShape& one) {
      const std::string number = std::to_string(convolutions_.size() + (is_timm ? 1 : 0));
      const ConvNormNames names =
          is_timm ? ConvNormNames{"conv" + number, "bn" + number}
                  : ConvNormNames{"layer." + number + ".convolution", "layer." + number + ".normalization"};
      convolutions_.emplace_back(parts, place, names, one);
    };
    constexpr auto kInner = ImageActivation::Relu;
    if (config.bottleneck) {
      const int64_t narrow = shape.out / 4;
      const bool is_first = config.stride_in_first;
      add({.in = shape.in, .out = narrow, .stride = is_first ? shape.stride : 1, .activation = kInner});
      add({.in = narrow, .out = narrow, .kernel = 3, .stride = is_first ? 1 : shape.stride, .activation = kInner});
      add({.in = narrow, .out = shape.out});
    } else {
      add({.in = shape.in, .out = shape.out, .kernel = 3, .stride = shape.stride, .activation = kInner});
      add({.in = shape.out, .out = shape.out, .kernel = 3});
    }
    if (shape.in != shape.out || shape.stride != 1)
      shortcut_.emplace(parts, place,
                        is_timm ? ConvNormNames{"downsample.0", "downsample.1"}
                                : ConvNormNames{"shortcut.convolution", "shortcut.normalization"},
                        ConvNormShape{.in = shape.in, .out = shape.out, .stride = shape.stride});
  }

  at::Tensor forward(const at::Tensor& x) {
    at::Tensor inner = x;
    for (ConvNorm& convolution : convolutions_) inner = convolution.forward(inner);
    return activated(inner + (shortcut_ ? shortcut_->forward(x) : x), activation_);
  }

 private:
  ImageActivation activation_;
  std::vector<ConvNorm> convolutions_ = {};
  std::optional<ConvNorm> shortcut_ = {};
};

struct ResidualParts {
  ConvNorm stem;
  std::vector<std::shared_ptr<ResidualBlock>> blocks = {};
};

std::string block_path(ImageNames names, size_t stage, int64_t block) {
  return names == ImageNames::Timm
             ? "layer" + std::to_string(stage + 1) + "." + std::to_string(block)
             : "resnet.encoder.stages." + std::to_string(stage) + ".layers." + std::to_string(block);
}

}  // namespace

ImageNetworkMaker residual_network(const ResidualNetworkConfig& config) {
  return [config](PretrainedParts& parts, torch::nn::Module& module) -> ImageFeatures {
    const ConvNormNames stem_names =
        config.names == ImageNames::Timm
            ? ConvNormNames{"conv1", "bn1"}
            : ConvNormNames{"resnet.embedder.embedder.convolution", "resnet.embedder.embedder.normalization"};
    const auto made = std::make_shared<ResidualParts>(ResidualParts{
        .stem = ConvNorm(
            parts, {module}, stem_names,
            {.in = config.channels, .out = config.stem, .kernel = 7, .stride = 2, .activation = config.activation})});
    int64_t in = config.stem;
    for (size_t stage = 0; stage < config.depths.size(); ++stage) {
      for (int64_t i = 0; i < config.depths[stage]; ++i) {
        const std::string path = block_path(config.names, stage, i);
        const bool halves = i == 0 && (stage > 0 || config.first_stage_halves);
        made->blocks.push_back(std::make_shared<ResidualBlock>(
            parts, path + ".", config, ResidualShape{.in = in, .out = config.widths[stage], .stride = halves ? 2 : 1}));
        register_path_of(module, path, made->blocks.back());
        in = config.widths[stage];
      }
    }
    return [made](const at::Tensor& images) {
      at::Tensor x = at::max_pool2d(made->stem.forward(images), /*kernel_size=*/3, /*stride=*/2, /*padding=*/1);
      for (const auto& block : made->blocks) x = block->forward(x);
      return at::adaptive_avg_pool2d(x, {1, 1}).flatten(1);
    };
  };
}

}  // namespace levin::nn
