#include <levin/modules/images/mobile_network.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/hardsigmoid.h>
#include <ATen/ops/relu.h>
#include <levin/modules/images/drop_path.h>
#include <levin/modules/parallel/sharding/shard_unit.h>
#include <levin/modules/transformers/register_path.h>

#include <algorithm>
#include <memory>

namespace levin::nn {
namespace {

class MobileBlock : public torch::nn::Module, public ShardUnit {
 public:
  /// `outer` holds the layers if the block has no path.
  MobileBlock(PretrainedParts& parts, const MobileBlockShape& shape, torch::nn::Module& outer)
      : torch::nn::Module("MobileBlock"),
        squeeze_behind_(shape.squeeze_behind),
        is_residual_(shape.is_residual),
        drop_path_(shape.drop_path) {
    const PartPlace place = shape.path.empty() ? PartPlace{outer} : PartPlace{*this, shape.path + "."};
    for (size_t i = 0; i < shape.convolutions.size(); ++i) {
      convolutions_.emplace_back(parts, place, shape.convolutions[i].names, shape.convolutions[i].shape);
      if (!shape.squeeze || i != squeeze_behind_) continue;
      const auto& [channels, narrow, reduce, expand] = *shape.squeeze;
      reduce_ = parts.convolution(place, reduce, {.in = channels, .out = narrow});
      expand_ = parts.convolution(place, expand, {.in = narrow, .out = channels});
    }
  }

  at::Tensor forward(const at::Tensor& x) {
    at::Tensor inner = x;
    for (size_t i = 0; i < convolutions_.size(); ++i) {
      inner = convolutions_[i].forward(inner);
      if (!reduce_ || i != squeeze_behind_) continue;
      const at::Tensor narrow = at::relu(reduce_->forward(inner.mean({2, 3}, /*keepdim=*/true)));
      inner = inner * at::hardsigmoid(expand_->forward(narrow));
    }
    return is_residual_ ? x + drop_path(inner, drop_path_, is_training()) : inner;
  }

 private:
  std::vector<ConvNorm> convolutions_ = {};
  size_t squeeze_behind_;
  torch::nn::Conv2d reduce_{nullptr}, expand_{nullptr};
  bool is_residual_;
  double drop_path_;
};

}  // namespace

ImageNetworkMaker mobile_network(const MobileNetworkConfig& config) {
  return [config](PretrainedParts& parts, torch::nn::Module& module) -> ImageFeatures {
    const auto blocks = std::make_shared<std::vector<std::shared_ptr<MobileBlock>>>();
    for (const MobileBlockShape& shape : config.blocks) {
      blocks->push_back(std::make_shared<MobileBlock>(parts, shape, module));
      if (!shape.path.empty()) register_path_of(module, shape.path, blocks->back());
    }
    torch::nn::Conv2d head{nullptr};
    if (!config.head_convolution.empty())
      head = parts.convolution({module}, config.head_convolution, {.in = config.head_in, .out = config.head_out});
    return [blocks, head, activation = config.head_activation](const at::Tensor& images) mutable {
      at::Tensor x = images;
      for (const auto& block : *blocks) x = block->forward(x);
      x = x.mean({2, 3}, /*keepdim=*/true);
      return (head ? activated(head->forward(x), activation) : x).flatten(1);
    };
  };
}

int64_t rounded_channels(double channels, int64_t divisor, int64_t least) {
  const int64_t whole = static_cast<int64_t>(channels + static_cast<double>(divisor) / 2) / divisor * divisor;
  const int64_t rounded = std::max(least, whole);
  return static_cast<double>(rounded) < 0.9 * channels ? rounded + divisor : rounded;
}

}  // namespace levin::nn
