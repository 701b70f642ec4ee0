#include <levin/modules/images/pretrained_parts.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/util/StringUtil.h>
#include <levin/core/system/error.h>
#include <levin/modules/transformers/load_tensors.h>
#include <levin/modules/transformers/register_path.h>

#include <algorithm>
#include <utility>

namespace levin::nn {
namespace {

/// More than a network of any size lacks at once; a config.json of millions of layers ends here.
constexpr size_t kMostFaults = 1000;

}  // namespace

torch::nn::Linear new_linear(torch::nn::Module& module, const std::string& path, int64_t in, int64_t out) {
  constexpr double kSpread = 0.02;
  torch::nn::Linear layer(torch::nn::LinearOptions(1, 1));
  layer->options.in_features(in).out_features(out);
  register_path_of(module, path, layer.ptr());
  layer->weight.set_data(at::empty({out, in}, at::kFloat).normal_(0, kSpread));
  layer->bias.set_data(at::zeros({out}, at::kFloat));
  return layer;
}

at::Tensor PretrainedParts::take(const std::string& name, at::IntArrayRef sizes, bool is_count) {
  if (missing_.size() + mismatched_.size() > kMostFaults) return {};
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    missing_.push_back(name);
    return {};
  }
  used_.insert(name);
  const at::Tensor& source = found->second;
  if (source.sizes() != sizes ||
      (is_count ? source.scalar_type() != at::kLong : !is_weight_dtype(source.scalar_type()))) {
    mismatched_.push_back(
        c10::str(name, " (is ", source.sizes(), " of ", source.scalar_type(), ", needs ", sizes, ")"));
    return {};
  }
  return source.to(is_count ? at::kLong : at::kFloat, /*non_blocking=*/false, /*copy=*/true);
}

void PretrainedParts::take_into(at::Tensor& own, const std::string& name, at::IntArrayRef sizes) {
  const at::Tensor taken = take(name, sizes);
  if (taken.defined()) own.set_data(taken);
}

torch::nn::Conv2d PretrainedParts::convolution(const PartPlace& place, const std::string& path,
                                               const ConvolutionShape& shape) {
  torch::nn::Conv2d layer(torch::nn::Conv2dOptions(1, 1, 1).bias(shape.bias));
  layer->options.in_channels(shape.in)
      .out_channels(shape.out)
      .kernel_size({shape.kernel_height, shape.kernel_width})
      .stride({shape.stride_height, shape.stride_width})
      .padding(torch::ExpandingArray<2>(shape.padding))
      .dilation(shape.dilation)
      .groups(shape.groups);
  register_path_of(place.module, path, layer.ptr());
  const std::string name = place.prefix + path;
  take_into(layer->weight, name + ".weight",
            {shape.out, shape.in / shape.groups, shape.kernel_height, shape.kernel_width});
  if (shape.bias) take_into(layer->bias, name + ".bias", {shape.out});
  return layer;
}

torch::nn::Linear PretrainedParts::linear(const PartPlace& place, const std::string& path, int64_t in, int64_t out,
                                          bool bias) {
  torch::nn::Linear layer(torch::nn::LinearOptions(1, 1).bias(bias));
  layer->options.in_features(in).out_features(out);
  register_path_of(place.module, path, layer.ptr());
  const std::string name = place.prefix + path;
  take_into(layer->weight, name + ".weight", {out, in});
  if (bias) take_into(layer->bias, name + ".bias", {out});
  return layer;
}

void PretrainedParts::leave(const std::string& name) {
  used_.insert(name + ".weight");
  used_.insert(name + ".bias");
}

torch::nn::LayerNorm PretrainedParts::layer_norm(const PartPlace& place, const std::string& path, int64_t size,
                                                 double eps) {
  torch::nn::LayerNorm layer(torch::nn::LayerNormOptions({1}).eps(eps));
  layer->options.normalized_shape({size});
  register_path_of(place.module, path, layer.ptr());
  take_into(layer->weight, place.prefix + path + ".weight", {size});
  take_into(layer->bias, place.prefix + path + ".bias", {size});
  return layer;
}

torch::nn::BatchNorm2d PretrainedParts::batch_norm(const PartPlace& place, const std::string& path, int64_t size,
                                                   double eps, double momentum) {
  torch::nn::BatchNorm2d layer(torch::nn::BatchNorm2dOptions(1).eps(eps).momentum(momentum));
  layer->options.num_features(size);
  register_path_of(place.module, path, layer.ptr());
  const std::string name = place.prefix + path;
  take_into(layer->weight, name + ".weight", {size});
  take_into(layer->bias, name + ".bias", {size});
  take_into(layer->running_mean, name + ".running_mean", {size});
  take_into(layer->running_var, name + ".running_var", {size});
  const at::Tensor count = take(name + ".num_batches_tracked", {}, /*is_count=*/true);
  if (count.defined()) layer->num_batches_tracked.set_data(count);
  return layer;
}

at::Tensor PretrainedParts::parameter(const PartPlace& place, const std::string& path, at::IntArrayRef sizes) {
  const auto [parent, name] = end_of_path(place.module, path);
  const at::Tensor taken = take(place.prefix + path, sizes);
  return parent->register_parameter(name, taken.defined() ? taken : at::zeros({0}, at::kFloat));
}

void PretrainedParts::check(const std::string& family, const std::filesystem::path& folder,
                            const std::vector<std::string>& may_be_left) const {
  std::vector<std::string> unexpected;
  for (const auto& [name, tensor] : tensors_) {
    const auto begins = [&key = name](const std::string& prefix) { return key.starts_with(prefix); };
    if (!used_.contains(name) && std::ranges::none_of(may_be_left, begins)) unexpected.push_back(name);
  }
  if (missing_.empty() && mismatched_.empty() && unexpected.empty()) return;
  throw UsageError(folder.string(), ": the weights do not fit a ", family,
                   " of the sizes in config.json:", line_of_names("missing", missing_),
                   line_of_names("unexpected", unexpected), line_of_names("mismatched", mismatched_));
}

}  // namespace levin::nn
