#include <levin/modules/images/conv_norm.h>
#include <ATen/ops/constant_pad_nd.h>

#include <algorithm>

namespace levin::nn {
namespace {

/// Returns the pixels before and behind a line of `size` pixels.
std::pair<int64_t, int64_t> same_padding(int64_t size, const ConvNormShape& shape) {
  const int64_t rest = size % shape.stride;
  const int64_t all = std::max<int64_t>(shape.kernel - (rest == 0 ? shape.stride : rest), 0);
  return {all / 2 * shape.dilation, (all - all / 2) * shape.dilation};
}

ConvolutionShape convolution_of(const ConvNormShape& shape) {
  return {.in = shape.in,
          .out = shape.out,
          .kernel_height = shape.kernel,
          .kernel_width = shape.kernel,
          .stride_height = shape.stride,
          .stride_width = shape.stride,
          .padding = shape.same_padding ? 0 : shape.kernel / 2 * shape.dilation,
          .dilation = shape.dilation,
          .groups = shape.groups,
          .bias = false};
}

}  // namespace

ConvNorm::ConvNorm(PretrainedParts& parts, const PartPlace& place, const ConvNormNames& names,
                   const ConvNormShape& shape)
    : shape_(shape),
      convolution_(parts.convolution(place, names.convolution, convolution_of(shape))),
      norm_(parts.batch_norm(place, names.norm, shape.out, shape.eps, shape.momentum)) {}

at::Tensor ConvNorm::forward(const at::Tensor& x) {
  at::Tensor padded = x;
  if (shape_.same_padding && shape_.kernel > 1) {
    const auto [top, bottom] = same_padding(x.size(2), shape_);
    const auto [left, right] = same_padding(x.size(3), shape_);
    padded = at::constant_pad_nd(x, {left, right, top, bottom});
  }
  return activated(norm_->forward(convolution_->forward(padded)), shape_.activation);
}

}  // namespace levin::nn
