#include <levin/modules/nn/resnet.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/max_pool2d.h>
#include <torch/nn/init.h>

#include <memory>

namespace levin::nn {
namespace {

using torch::nn::BatchNorm2d;
using torch::nn::Conv2d;
using torch::nn::Sequential;

/// A convolution without a bias, since a BatchNorm follows; padded so that stride 1 keeps the size.
Conv2d convolution(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
  return Conv2d(torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

/// Two 3x3 convolutions whose result is added to the input, or to a 1x1 convolution of the input if the size changes.
struct BasicBlock : torch::nn::Module {
  BasicBlock(int64_t in, int64_t out, int64_t stride)
      : conv1(register_module("conv1", convolution(in, out, 3, stride))),
        bn1(register_module("bn1", BatchNorm2d(out))),
        conv2(register_module("conv2", convolution(out, out, 3, 1))),
        bn2(register_module("bn2", BatchNorm2d(out))) {
    if (stride != 1 || in != out)
      downsample = register_module("downsample", Sequential(convolution(in, out, 1, stride), BatchNorm2d(out)));
  }

  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor inner = bn1->forward(conv1->forward(x)).relu_();
    const at::Tensor change = bn2->forward(conv2->forward(inner));
    return (change + (downsample ? downsample->forward(x) : x)).relu_();
  }

  Conv2d conv1;
  BatchNorm2d bn1;
  Conv2d conv2;
  BatchNorm2d bn2;
  Sequential downsample{nullptr};
};

Sequential layer(int64_t in, int64_t out, int64_t stride) {
  return Sequential(std::make_shared<BasicBlock>(in, out, stride), std::make_shared<BasicBlock>(out, out, 1));
}

}  // namespace

ResNet18Impl::ResNet18Impl(ResNet18Options options_)
    : options(options_),
      conv1(register_module("conv1", options.small_input ? convolution(options.in_channels, 64, 3, 1)
                                                         : convolution(options.in_channels, 64, 7, 2))),
      bn1(register_module("bn1", BatchNorm2d(64))),
      layer1(register_module("layer1", layer(64, 64, 1))),
      layer2(register_module("layer2", layer(64, 128, 2))),
      layer3(register_module("layer3", layer(128, 256, 2))),
      layer4(register_module("layer4", layer(256, 512, 2))),
      fc(register_module("fc", torch::nn::Linear(512, options.num_classes))) {
  for (auto& parameter : parameters()) {
    if (parameter.dim() == 4) torch::nn::init::kaiming_normal_(parameter, 0, torch::kFanOut, torch::kReLU);
  }
}

at::Tensor ResNet18Impl::forward(const at::Tensor& images) {
  at::Tensor x = bn1->forward(conv1->forward(images)).relu_();
  if (!options.small_input) x = at::max_pool2d(x, /*kernel_size=*/3, /*stride=*/2, /*padding=*/1);
  x = layer4->forward(layer3->forward(layer2->forward(layer1->forward(x))));
  return fc->forward(at::adaptive_avg_pool2d(x, {1, 1}).flatten(1));
}

}  // namespace levin::nn
