#include <levin/modules/detection/fcos_network.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <levin/core/system/error.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/normalization.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace levin::nn {
namespace {

constexpr int64_t kGroups = 8;
constexpr double kMostLogDistance = 10;  // exp of more strides would not be finite in half precision
constexpr double kFirstProbability = 0.01;

torch::nn::Conv2d convolution(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1, bool has_bias = true) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(has_bias));
}

void add_block(torch::nn::Sequential& blocks, int64_t in, int64_t out, int64_t stride = 1) {
  blocks->push_back(convolution(in, out, 3, stride, /*has_bias=*/false));
  blocks->push_back(torch::nn::GroupNorm(torch::nn::GroupNormOptions(kGroups, out)));
  blocks->push_back(torch::nn::ReLU());
}

torch::nn::Sequential tower(const FCOSNetworkOptions& options) {
  torch::nn::Sequential layers;
  for (int64_t i = 0; i < options.head_layers; ++i) add_block(layers, options.channels, options.channels);
  return layers;
}

void check(const FCOSNetworkOptions& options) {
  if (options.width % kGroups != 0 || options.channels % kGroups != 0)
    throw UsageError("FCOS: width ", options.width, " and channels ", options.channels, " must be multiples of ",
                     kGroups, ", for the groups of the norms");
  if (options.first_stride < 4 || !std::has_single_bit(static_cast<uint64_t>(options.first_stride)))
    throw UsageError("FCOS.first_stride: must be 4, 8, 16 or another power of 2, got ", options.first_stride);
}

/// Returns [batch, channels, height, width] as [batch, locations, channels].
at::Tensor by_location(const at::Tensor& map) { return map.flatten(2).transpose(1, 2); }

/// Returns the centres of the cells of a level, row by row: x and y.
at::Tensor cell_centers(const at::Tensor& map, int64_t stride) {
  const auto centers = [&](int64_t count) {
    return at::arange(count, map.options().dtype(at::kFloat)).add(0.5).mul(stride);
  };
  const int64_t height = map.size(2), width = map.size(3);
  return at::stack({centers(width).unsqueeze(0).expand({height, width}).flatten(),
                    centers(height).unsqueeze(1).expand({height, width}).flatten()},
                   1);
}

}  // namespace

FCOSNetworkImpl::FCOSNetworkImpl(FCOSNetworkOptions options_) : options(options_) {
  check(options);
  const auto stages = std::countr_zero(static_cast<uint64_t>(options.first_stride)) + options.levels - 1;
  int64_t channels = options.width;
  std::vector<int64_t> widths;
  for (int64_t stage = 0; stage < stages; ++stage) {
    torch::nn::Sequential blocks;
    const int64_t out = std::min(options.width << stage, 8 * options.width);
    add_block(blocks, stage == 0 ? 3 : channels, out, 2);
    if (stage > 0) add_block(blocks, out, out);
    backbone_->push_back(blocks);
    channels = out;
    widths.push_back(out);
  }
  widths.erase(widths.begin(), widths.end() - options.levels);
  for (const int64_t width : widths) {
    lateral_->push_back(convolution(width, options.channels, 1));
    smooth_->push_back(convolution(options.channels, options.channels, 3));
  }
  class_tower_ = tower(options);
  box_tower_ = tower(options);
  class_output_ = convolution(options.channels, options.num_classes, 3);
  box_output_ = convolution(options.channels, 4, 3);
  centerness_output_ = convolution(options.channels, 1, 3);
  register_module("backbone", backbone_);
  register_module("lateral", lateral_);
  register_module("smooth", smooth_);
  register_module("class_tower", class_tower_);
  register_module("box_tower", box_tower_);
  register_module("class_output", class_output_);
  register_module("box_output", box_output_);
  register_module("centerness_output", centerness_output_);
  scales_ = register_parameter("scales", at::ones({options.levels}));
  for (const auto& output : {class_output_, box_output_, centerness_output_}) {
    torch::nn::init::normal_(output->weight, 0, 0.01);
    torch::nn::init::zeros_(output->bias);
  }
  // So that the many locations without an object do not govern the first steps (Lin et al. 2017, section 4.1).
  torch::nn::init::constant_(class_output_->bias, -std::log((1 - kFirstProbability) / kFirstProbability));
}

std::vector<at::Tensor> FCOSNetworkImpl::pyramid_of(const at::Tensor& images) {
  std::vector<at::Tensor> features;
  at::Tensor x = images;
  for (const auto& stage : *backbone_) features.push_back(x = stage->as<torch::nn::SequentialImpl>()->forward(x));
  const auto levels = static_cast<size_t>(options.levels);
  features.erase(features.begin(), features.end() - static_cast<std::ptrdiff_t>(levels));
  std::vector<at::Tensor> pyramid(levels);
  at::Tensor above;
  for (size_t level = levels; level-- > 0;) {
    at::Tensor merged = lateral_[level]->as<torch::nn::Conv2dImpl>()->forward(features[level]);
    if (above.defined()) merged = merged + at::upsample_nearest2d(above, merged.sizes().slice(2));
    above = merged;
    pyramid[level] = smooth_[level]->as<torch::nn::Conv2dImpl>()->forward(merged);
  }
  return pyramid;
}

FCOSOutput FCOSNetworkImpl::forward(const at::Tensor& images) {
  if (images.dim() != 4 || images.size(1) != 3 || !images.is_floating_point())
    throw UsageError("FCOS: expected floating images [batch, 3, height, width], got ", images.sizes(), " of ",
                     images.scalar_type());
  std::vector<at::Tensor> classes, distances, centerness, points, strides;
  int64_t level = 0;
  for (const at::Tensor& map : pyramid_of(images)) {
    const int64_t stride = options.first_stride << level;
    const at::Tensor boxes = options.head_layers > 0 ? box_tower_->forward(map) : map;
    classes.push_back(by_location(class_output_(options.head_layers > 0 ? class_tower_->forward(map) : map)));
    distances.push_back(
        by_location(box_output_(boxes)).mul(scales_[level]).clamp_max(kMostLogDistance).exp().mul(stride));
    centerness.push_back(by_location(centerness_output_(boxes)).squeeze(2));
    points.push_back(cell_centers(map, stride));
    strides.push_back(at::full({points.back().size(0)}, stride, points.back().options()));
    ++level;
  }
  return {.classes = at::cat(classes, 1),
          .distances = at::cat(distances, 1),
          .centerness = at::cat(centerness, 1),
          .points = at::cat(points),
          .strides = at::cat(strides)};
}

}  // namespace levin::nn
