#include <levin/modules/nn/nets.h>
#include <levin/core/system/error.h>
#include <levin/modules/nn/resnet.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>

#include <algorithm>
#include <memory>

namespace levin::nn {
namespace {

using torch::nn::AvgPool2d;
using torch::nn::BatchNorm1d;
using torch::nn::Conv2d;
using torch::nn::Conv2dOptions;
using torch::nn::Flatten;
using torch::nn::Linear;
using torch::nn::ReLU;
using torch::nn::Sequential;

constexpr int64_t kSmallestLeNetImage = 14;

int64_t channels(const NetOptions& options) { return options.image_shape[0]; }

int64_t pixels(const NetOptions& options) {
  return options.image_shape[0] * options.image_shape[1] * options.image_shape[2];
}

/// Wraps a module of any class.
template <class M>
Net net_of(std::shared_ptr<M> module) {
  return {module, [module](const at::Tensor& images) { return module->forward(images); }};
}

Net mlp(const NetOptions& options) {
  const Sequential layers(Flatten(), Linear(pixels(options), options.hidden), ReLU(),
                          Linear(options.hidden, options.num_classes));
  return net_of(layers.ptr());
}

Net mlp_bn(const NetOptions& options) {
  const Sequential layers(Flatten(), Linear(pixels(options), options.hidden), BatchNorm1d(options.hidden), ReLU(),
                          Linear(options.hidden, options.num_classes));
  return net_of(layers.ptr());
}

Net lenet(const NetOptions& options) {
  const int64_t height = options.image_shape[1], width = options.image_shape[2];
  if (std::min(height, width) < kSmallestLeNetImage) {
    throw UsageError("model.image_shape: lenet takes images of at least ", kSmallestLeNetImage, "x",
                     kSmallestLeNetImage, ", got ", height, "x", width);
  }
  const auto left = [](int64_t size) { return ((size - 2) / 2 - 4) / 2; };  // size after convolutions and pools
  const Sequential layers(Conv2d(Conv2dOptions(channels(options), 20, 3)), ReLU(), AvgPool2d(2),
                          Conv2d(Conv2dOptions(20, 50, 5)), ReLU(), AvgPool2d(2), Flatten(),
                          Linear(50 * left(height) * left(width), 128), ReLU(), Linear(128, options.num_classes));
  return net_of(layers.ptr());
}

Net resnet18(const NetOptions& options) {
  return net_of(std::make_shared<ResNet18Impl>(ResNet18Options{
      .num_classes = options.num_classes, .in_channels = channels(options), .small_input = options.small_input}));
}

}  // namespace

Net make_net(NamedNet net, const NetOptions& options) {
  if (options.image_shape.size() != 3)
    throw UsageError("model.image_shape: expected channels, height and width, got ",
                     at::IntArrayRef(options.image_shape));
  switch (net) {
    case NamedNet::Mlp:
      return mlp(options);
    case NamedNet::MlpBn:
      return mlp_bn(options);
    case NamedNet::LeNet:
      return lenet(options);
    case NamedNet::ResNet18:
      break;
  }
  return resnet18(options);
}

Net make_net(const std::string& name, const NetOptions& options) {
  std::vector<std::string> names;
  for (const auto& [known, net] : kNetNames) {
    if (known == name) return make_net(net, options);
    names.emplace_back(known);
  }
  throw UsageError("no net '", name, "'", did_you_mean(name, names), "; there are mlp, mlp_bn, lenet and resnet18");
}

}  // namespace levin::nn
