#pragma once
#include <levin/modules/images/image_activation.h>
#include <levin/modules/images/pretrained_parts.h>

#include <cstdint>
#include <string>

namespace levin::nn {

/// The names of a convolution and of the norm behind it.
struct ConvNormNames {
  std::string convolution = "convolution", norm = "normalization";
};

struct ConvNormShape {
  int64_t in = 0, out = 0, kernel = 1, stride = 1, dilation = 1, groups = 1;
  ImageActivation activation = ImageActivation::None;
  /// Padding as TensorFlow's "SAME" has it: more on the right and at the bottom if it is odd. Else kernel / 2.
  bool same_padding = false;
  double eps = 1e-5, momentum = 0.1;
};

/// A convolution without a bias, a batch norm and an activation. The two layers are registered in the place's module.
class ConvNorm {
 public:
  ConvNorm(PretrainedParts& parts, const PartPlace& place, const ConvNormNames& names, const ConvNormShape& shape);
  /// Maps [batch, in, height, width] to [batch, out, height / stride, width / stride], rounded up.
  at::Tensor forward(const at::Tensor& x);

 private:
  ConvNormShape shape_;
  torch::nn::Conv2d convolution_;
  torch::nn::BatchNorm2d norm_;
};

}  // namespace levin::nn
