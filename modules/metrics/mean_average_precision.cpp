#include <levin/modules/metrics/mean_average_precision.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/util/StringUtil.h>
#include <levin/core/system/error.h>
#include <levin/modules/metrics/engine/coco_scores.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace levin::metrics {
namespace {

constexpr int64_t kDetectionColumns = 6;  // x, y, width, height, score, label
constexpr int64_t kTargetColumns = 7;     // x, y, width, height, label, iscrowd, area
constexpr double kSmallest = 0, kSmall = 32 * 32, kMedium = 96 * 96, kLargest = 1e10;

/// Returns evenly spaced numbers as torchmetrics has them: float32.
std::vector<double> evenly_spaced(double first, double last, int64_t count) {
  const at::Tensor numbers = at::linspace(first, last, count, at::TensorOptions(at::kFloat)).to(at::kDouble);
  return {numbers.const_data_ptr<double>(), numbers.const_data_ptr<double>() + count};
}

/// What of a class's scores makes one of COCO's values.
struct ValueParts {
  bool is_recall = false;
  std::optional<double> iou_threshold = {};  ///< unset: all
  double least_area = kSmallest, most_area = kLargest;
  size_t max_detections = 2;  ///< which of the thresholds
};

ValueParts parts_of(DetectionValue value) {
  switch (value) {
    case DetectionValue::Map:
      return {};
    case DetectionValue::Map50:
      return {.iou_threshold = 0.5};
    case DetectionValue::Map75:
      return {.iou_threshold = 0.75};
    case DetectionValue::MapSmall:
      return {.most_area = kSmall};
    case DetectionValue::MapMedium:
      return {.least_area = kSmall, .most_area = kMedium};
    case DetectionValue::MapLarge:
      return {.least_area = kMedium};
    case DetectionValue::Mar1:
      return {.is_recall = true, .max_detections = 0};
    case DetectionValue::Mar10:
      return {.is_recall = true, .max_detections = 1};
    case DetectionValue::Mar100:
      return {.is_recall = true};
    case DetectionValue::MarSmall:
      return {.is_recall = true, .most_area = kSmall};
    case DetectionValue::MarMedium:
      return {.is_recall = true, .least_area = kSmall, .most_area = kMedium};
    case DetectionValue::MarLarge:
      return {.is_recall = true, .least_area = kMedium};
  }
  return {};
}

double mean_or_absent(const std::vector<double>& values) {
  return values.empty() ? -1 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void check_boxes(const char* what, const at::Tensor& boxes, const at::Tensor& labels) {
  const bool fits = boxes.dim() == 3 && boxes.size(2) == 4 && boxes.is_floating_point() &&
                    labels.sizes() == boxes.sizes().slice(0, 2) &&
                    at::isIntegralType(labels.scalar_type(), /*includeBool=*/false);
  if (!fits)
    throw UsageError("MeanAveragePrecision: expected boxes of ", what,
                     ", floating [images, boxes, 4], and integer labels [images, boxes], got ", boxes.sizes(), " of ",
                     boxes.scalar_type(), " and ", labels.sizes(), " of ", labels.scalar_type());
}

at::Tensor column(const at::Tensor& values) { return values.to(at::kDouble).reshape({-1, 1}); }

CocoBox box_of(const double* row) { return {.x = row[0], .y = row[1], .width = row[2], .height = row[3]}; }

}  // namespace

MeanAveragePrecision::MeanAveragePrecision(Options options) : options_(std::move(options)) {
  schema_of<Options>().check(&options_, "MeanAveragePrecision");
  if (options_.max_detection_thresholds.size() != 3)
    throw UsageError("MeanAveragePrecision.max_detection_thresholds: expected 3 numbers, got ",
                     options_.max_detection_thresholds.size());
  std::sort(options_.max_detection_thresholds.begin(), options_.max_detection_thresholds.end());
  if (options_.iou_thresholds.empty()) options_.iou_thresholds = evenly_spaced(0.5, 0.95, 10);
  if (options_.rec_thresholds.empty()) options_.rec_thresholds = evenly_spaced(0, 1, 101);
  images_ = add_list_state("images");
  detections_ = add_list_state("detections");
  targets_ = add_list_state("targets");
}

void MeanAveragePrecision::update_inputs(at::TensorList inputs) {
  if (inputs.size() < 5 || inputs.size() > 7)
    throw UsageError(
        "MeanAveragePrecision: expected boxes, scores and labels of detections, boxes and labels of targets, and then "
        "iscrowd and area if wanted, got ",
        inputs.size(), " tensors");
  const at::Tensor &boxes = inputs[0], &scores = inputs[1], &labels = inputs[2];
  const at::Tensor &target_boxes = inputs[3], &target_labels = inputs[4];
  check_boxes("detections", boxes, labels);
  check_boxes("targets", target_boxes, target_labels);
  const bool fits = scores.is_floating_point() && scores.sizes() == labels.sizes() &&
                    target_boxes.size(0) == boxes.size(0) &&
                    std::all_of(inputs.begin() + 5, inputs.end(),
                                [&](const at::Tensor& one) { return one.sizes() == target_labels.sizes(); });
  if (!fits)
    throw UsageError(
        "MeanAveragePrecision: expected a floating score for each detection, and targets of as many images"
        ", with one iscrowd and area each, got scores ",
        scores.sizes(), " of ", scores.scalar_type(), ", detections ", boxes.sizes(), ", targets ",
        target_boxes.sizes(), inputs.size() > 5 ? ", iscrowd " : "",
        inputs.size() > 5 ? c10::str(inputs[5].sizes()) : "", inputs.size() > 6 ? ", area " : "",
        inputs.size() > 6 ? c10::str(inputs[6].sizes()) : "");
  const auto corners = [&](const at::Tensor& all) {
    return nn::convert_boxes(all.to(at::kDouble), options_.box_format, nn::BoxFormat::Xywh).reshape({-1, 4});
  };
  const at::Tensor none = at::zeros({target_labels.numel(), 1}, at::TensorOptions(at::kDouble).device(boxes.device()));
  append(images_, at::tensor({boxes.size(1), target_boxes.size(1)}, at::TensorOptions(at::kLong).device(boxes.device()))
                      .expand({boxes.size(0), 2}));
  append(detections_, at::cat({corners(boxes), column(scores), column(labels)}, 1));
  append(targets_, at::cat({corners(target_boxes), column(target_labels), inputs.size() > 5 ? column(inputs[5]) : none,
                            inputs.size() > 6 ? column(inputs[6]) : none},
                           1));
}

std::vector<CocoImage> MeanAveragePrecision::images() const {
  std::vector<CocoImage> all;
  if (!rows(images_).defined()) return all;
  const at::Tensor counts = rows(images_).cpu().contiguous(), detections = rows(detections_).cpu().contiguous(),
                   targets = rows(targets_).cpu().contiguous();
  const bool is_micro = options_.average == DetectionAverage::Micro && !options_.class_metrics;
  const auto label_of = [&](double label) { return is_micro ? 0 : static_cast<int64_t>(label); };
  const double *detection = detections.const_data_ptr<double>(), *target = targets.const_data_ptr<double>();
  for (int64_t i = 0; i < counts.size(0); ++i) {
    CocoImage& image = all.emplace_back();
    const int64_t* const count = counts.const_data_ptr<int64_t>() + 2 * i;
    for (int64_t k = 0; k < count[0]; ++k, detection += kDetectionColumns) {
      if (detection[5] < 0) continue;
      CocoBox& box = image.detections.emplace_back(box_of(detection));
      box.area = box.width * box.height;
      box.score = detection[4];
      box.label = label_of(detection[5]);
    }
    for (int64_t k = 0; k < count[1]; ++k, target += kTargetColumns) {
      if (target[4] < 0) continue;
      CocoBox& box = image.targets.emplace_back(box_of(target));
      box.label = label_of(target[4]);
      box.is_crowd = target[5] != 0;
      box.area = target[6] > 0 ? target[6] : box.width * box.height;
    }
  }
  return all;
}

at::Tensor MeanAveragePrecision::compute_value() const {
  const ValueParts parts = parts_of(options_.value);
  CocoCriteria criteria = {
      .iou_thresholds = options_.iou_thresholds,
      .recall_thresholds = options_.rec_thresholds,
      .least_area = parts.least_area,
      .most_area = parts.most_area,
      .max_detections = static_cast<size_t>(options_.max_detection_thresholds[parts.max_detections])};
  if (parts.iou_threshold)
    std::erase_if(criteria.iou_thresholds, [&](double one) { return one != *parts.iou_threshold; });
  std::vector<double> all, by_class;
  for (const auto& [label, scores] : coco_scores(images(), criteria)) {
    const std::vector<double>& values = parts.is_recall ? scores.recall : scores.precision;
    all.insert(all.end(), values.begin(), values.end());
    by_class.push_back(mean_or_absent(values));
  }
  const at::TensorOptions wide = at::TensorOptions(at::kDouble).device(device());
  return options_.class_metrics ? at::tensor(by_class, wide) : at::scalar_tensor(mean_or_absent(all), wide);
}

}  // namespace levin::metrics
