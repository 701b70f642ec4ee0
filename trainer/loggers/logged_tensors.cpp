#include <levin/trainer/loggers/logged_tensors.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/bucketize.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/masked_select.h>
#include <ATen/ops/nan_to_num.h>
#include <ATen/ops/tensor.h>
#include <levin/core/system/error.h>

#include <cstddef>
#include <limits>
#include <numeric>

namespace levin {
namespace {

/// Source: the bucket limits of TensorBoard's summaries, which PyTorch's SummaryWriter has too.
const std::vector<double>& bucket_limits() {
  static const std::vector<double> limits = [] {
    std::vector<double> positive, all;
    for (double limit = 1e-12; limit < 1e20; limit *= 1.1) positive.push_back(limit);
    for (auto limit = positive.rbegin(); limit != positive.rend(); ++limit) all.push_back(-*limit);
    all.push_back(0);
    all.insert(all.end(), positive.begin(), positive.end());
    all.push_back(std::numeric_limits<double>::max());
    return all;
  }();
  return limits;
}

}  // namespace

void check_image(const std::string& name, const at::Tensor& image) {
  const bool is_image =
      image.defined() && image.numel() > 0 &&
      (image.dim() == 2 || (image.dim() == 3 && (image.size(0) == 1 || image.size(0) == 3))) &&
      (image.scalar_type() == at::kByte || image.scalar_type() == at::kBool || at::isFloatingType(image.scalar_type()));
  if (is_image) return;
  throw UsageError("log_image: '", name,
                   "' must be [height, width] or [1 or 3, height, width] of uint8, bool or floating point, got ",
                   image.defined() ? c10::str(image.scalar_type(), " ", image.sizes()) : "an undefined tensor");
}

at::Tensor image_bytes(const std::string& name, const at::Tensor& image) {
  check_image(name, image);
  const at::NoGradGuard no_grad;
  at::Tensor bytes = image.detach().cpu();
  if (bytes.scalar_type() == at::kBool)
    bytes = bytes.to(at::kByte) * 255;
  else if (bytes.scalar_type() != at::kByte)
    bytes = at::nan_to_num(bytes.to(at::kFloat), 0, 1, 0).mul(255).clamp(0, 255).to(at::kByte);
  return (bytes.dim() == 2 ? bytes.unsqueeze(0) : bytes).contiguous();
}

void check_histogram(const std::string& name, const at::Tensor& values) {
  if (!values.defined() || values.is_complex())
    throw UsageError("log_histogram: '", name, "' must be a tensor of real numbers, got ",
                     values.defined() ? c10::str(values.scalar_type(), " ", values.sizes()) : "an undefined tensor");
}

double Histogram::count() const { return std::accumulate(counts.begin(), counts.end(), 0.0); }

Histogram histogram_of(const at::Tensor& values) {
  check_histogram("values", values);
  const at::NoGradGuard no_grad;
  at::Tensor numbers = values.detach().flatten().cpu().to(at::kDouble);
  numbers = numbers.masked_select(at::isfinite(numbers));
  if (numbers.numel() == 0) return {};
  static const at::Tensor limits = at::tensor(bucket_limits());
  const at::Tensor buckets =
      at::bucketize(numbers, limits, /*out_int32=*/false, /*right=*/true).clamp_max_(limits.numel() - 1);
  const at::Tensor counts = at::bincount(buckets, {}, limits.numel()).to(at::kDouble).contiguous();
  const double* const all = counts.const_data_ptr<double>();
  std::ptrdiff_t first = 0, end = counts.numel();
  while (all[first] == 0) ++first;
  while (all[end - 1] == 0) --end;
  if (first > 0) --first;  // the limit of this empty bucket is the lower one of the next
  const auto begin = bucket_limits().begin();
  return {.min = numbers.min().item<double>(),
          .max = numbers.max().item<double>(),
          .sum = numbers.sum().item<double>(),
          .sum_of_squares = numbers.square().sum().item<double>(),
          .limits = {begin + first, begin + end},
          .counts = {all + first, all + end}};
}

}  // namespace levin
