#include <levin/modules/images/unet_network.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>

#include <memory>
#include <vector>

namespace levin::nn {
namespace {

using torch::nn::BatchNorm2d;
using torch::nn::Conv2d;

/// Two 3x3 convolutions, each with ReLU.
struct UNetLevel : torch::nn::Module {
  UNetLevel(int64_t in, int64_t out, bool batch_norm) {
    const auto convolution = [&](int64_t from) {
      return Conv2d(torch::nn::Conv2dOptions(from, out, 3).padding(1).bias(!batch_norm));
    };
    conv1 = register_module("conv1", convolution(in));
    if (batch_norm) norm1 = register_module("norm1", BatchNorm2d(out));
    conv2 = register_module("conv2", convolution(out));
    if (batch_norm) norm2 = register_module("norm2", BatchNorm2d(out));
  }

  at::Tensor forward(const at::Tensor& x) {
    const auto step = [](const at::Tensor& from, Conv2d& conv, BatchNorm2d& norm) {
      const at::Tensor y = conv->forward(from);
      return at::relu(norm ? norm->forward(y) : y);
    };
    return step(step(x, conv1, norm1), conv2, norm2);
  }

  Conv2d conv1{nullptr}, conv2{nullptr};
  BatchNorm2d norm1{nullptr}, norm2{nullptr};
};

/// Doubles the size, and joins the channels of the level on the way down.
struct UNetUpLevel : UNetLevel {
  UNetUpLevel(int64_t in, int64_t out, bool batch_norm) : UNetLevel(in, out, batch_norm) {
    up = register_module("up", torch::nn::ConvTranspose2d(torch::nn::ConvTranspose2dOptions(in, out, 2).stride(2)));
  }

  at::Tensor forward(const at::Tensor& below, const at::Tensor& beside) {
    at::Tensor x = up->forward(below);
    const int64_t rows = beside.size(2) - x.size(2), columns = beside.size(3) - x.size(3);
    if (rows > 0 || columns > 0) x = at::constant_pad_nd(x, {0, columns, 0, rows});
    return UNetLevel::forward(at::cat({beside, x}, 1));
  }

  torch::nn::ConvTranspose2d up{nullptr};
};

}  // namespace

UNetNetworkImpl::UNetNetworkImpl(UNetShape shape)
    : shape_(shape), head_(torch::nn::Conv2dOptions(shape.base_channels, shape.num_classes, 1)) {
  int64_t channels = shape.base_channels;
  encoder_->push_back(std::make_shared<UNetLevel>(shape.in_channels, channels, shape.batch_norm));
  for (int64_t level = 0; level < shape.depth; ++level, channels *= 2)
    encoder_->push_back(std::make_shared<UNetLevel>(channels, 2 * channels, shape.batch_norm));
  for (; channels > shape.base_channels; channels /= 2)
    decoder_->push_back(std::make_shared<UNetUpLevel>(channels, channels / 2, shape.batch_norm));
  register_module("encoder", encoder_);
  register_module("decoder", decoder_);
  register_module("head", head_);
}

at::Tensor UNetNetworkImpl::forward(const at::Tensor& images) {
  std::vector<at::Tensor> levels;
  for (const auto& level : *encoder_) {
    const at::Tensor x = levels.empty() ? images : at::max_pool2d(levels.back(), /*kernel_size=*/2);
    levels.push_back(level->as<UNetLevel>()->forward(x));
  }
  at::Tensor x = levels.back();
  for (const auto& level : *decoder_) {
    levels.pop_back();
    x = level->as<UNetUpLevel>()->forward(x, levels.back());
  }
  return head_->forward(x);
}

}  // namespace levin::nn
