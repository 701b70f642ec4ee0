#include <levin/modules/detection/nms.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

namespace levin::nn {
namespace {

double area_of(const double* box) { return std::max(box[2] - box[0], 0.0) * std::max(box[3] - box[1], 0.0); }

double iou_of(const double* a, const double* b) {
  const double width = std::min(a[2], b[2]) - std::max(a[0], b[0]);
  const double height = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  if (!(width > 0 && height > 0)) return 0;
  const double both = width * height;
  return both / (area_of(a) + area_of(b) - both);
}

}  // namespace

at::Tensor nms(const at::Tensor& boxes, const at::Tensor& scores, const at::Tensor& labels, double iou_threshold,
               int64_t most) {
  const bool fits = boxes.dim() == 2 && boxes.size(1) == 4 && boxes.is_floating_point() && scores.is_floating_point() &&
                    scores.dim() == 1 && scores.size(0) == boxes.size(0) && labels.sizes() == scores.sizes() &&
                    at::isIntegralType(labels.scalar_type(), /*includeBool=*/false);
  if (!fits)
    throw UsageError("nms: expected floating boxes [n, 4] and scores [n] and integer labels [n], got ", boxes.sizes(),
                     ", ", scores.sizes(), " and ", labels.sizes(), " of ", labels.scalar_type());
  const at::Tensor corners = boxes.to(at::kCPU, at::kDouble).contiguous(),
                   values = scores.to(at::kCPU, at::kDouble).contiguous(),
                   classes = labels.to(at::kCPU, at::kLong).contiguous();
  const double *box = corners.const_data_ptr<double>(), *score = values.const_data_ptr<double>();
  const int64_t* const label = classes.const_data_ptr<int64_t>();
  std::vector<int64_t> order(static_cast<size_t>(boxes.size(0)));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::erase_if(order, [&](int64_t i) { return std::isnan(score[i]); });
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return score[a] > score[b]; });
  std::map<int64_t, std::vector<int64_t>> kept_of;
  std::vector<int64_t> kept;
  for (const int64_t i : order) {
    if (static_cast<int64_t>(kept.size()) >= most) break;
    std::vector<int64_t>& alike = kept_of[label[i]];
    if (std::any_of(alike.begin(), alike.end(),
                    [&](int64_t other) { return iou_of(box + 4 * i, box + 4 * other) > iou_threshold; }))
      continue;
    alike.push_back(i);
    kept.push_back(i);
  }
  return at::tensor(kept, at::TensorOptions(at::kLong));
}

}  // namespace levin::nn
