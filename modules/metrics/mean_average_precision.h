#pragma once
#include <levin/core/options/choice.h>
#include <levin/core/options/option.h>
#include <levin/modules/detection/boxes.h>
#include <levin/modules/metrics/metric.h>

#include <cstdint>
#include <vector>

namespace levin {
namespace metrics {

struct CocoImage;

/// Which of the values of MeanAveragePrecision is returned: a mean of precisions (map) or of greatest recalls (mar).
enum class DetectionValue : uint8_t {
  Map,
  Map50,
  Map75,
  MapSmall,
  MapMedium,
  MapLarge,
  Mar1,
  Mar10,
  Mar100,
  MarSmall,
  MarMedium,
  MarLarge
};
/// How classes become one value: the mean of their values, or as if all boxes were of one class.
enum class DetectionAverage : uint8_t { Macro, Micro };

}  // namespace metrics

template <>
inline constexpr auto kWords<metrics::DetectionValue> =
    words_of<metrics::DetectionValue>({{"map", metrics::DetectionValue::Map},
                                       {"map_50", metrics::DetectionValue::Map50},
                                       {"map_75", metrics::DetectionValue::Map75},
                                       {"map_small", metrics::DetectionValue::MapSmall},
                                       {"map_medium", metrics::DetectionValue::MapMedium},
                                       {"map_large", metrics::DetectionValue::MapLarge},
                                       {"mar_1", metrics::DetectionValue::Mar1},
                                       {"mar_10", metrics::DetectionValue::Mar10},
                                       {"mar_100", metrics::DetectionValue::Mar100},
                                       {"mar_small", metrics::DetectionValue::MarSmall},
                                       {"mar_medium", metrics::DetectionValue::MarMedium},
                                       {"mar_large", metrics::DetectionValue::MarLarge}});
template <>
inline constexpr auto kWords<metrics::DetectionAverage> = words_of<metrics::DetectionAverage>(
    {{"macro", metrics::DetectionAverage::Macro}, {"micro", metrics::DetectionAverage::Micro}});

namespace metrics {

/// Arguments of MeanAveragePrecision, with torchmetrics' names and defaults. torchmetrics returns a dictionary; here a
/// metric has one of its values.
struct MeanAveragePrecisionOptions {
  Choice<DetectionValue> value = LEVIN_OPTION(
      value, DetectionValue::Map,
      "Which value is returned; mar_1, mar_10 and mar_100: with the first, second and third max_detection_thresholds");
  Choice<nn::BoxFormat> box_format =
      LEVIN_OPTION(box_format, nn::BoxFormat::Xyxy, "What the four numbers of a box are");
  std::vector<double> iou_thresholds = LEVIN_OPTION(
      iou_thresholds, {}, "IoU from which a detection is right; empty: 0.5, 0.55, ... 0.95", {.min = 0, .max = 1});
  std::vector<double> rec_thresholds = LEVIN_OPTION(
      rec_thresholds, {}, "Recalls whose precisions are averaged; empty: 0, 0.01, ... 1", {.min = 0, .max = 1});
  std::vector<int64_t> max_detection_thresholds =
      LEVIN_OPTION(max_detection_thresholds, (std::vector<int64_t>{1, 10, 100}),
                   "Three numbers of detections of a class in an image, those with the highest scores", {.min = 1});
  bool class_metrics = LEVIN_OPTION(class_metrics, false, "One value for each class that occurs");
  Choice<DetectionAverage> average = LEVIN_OPTION(average, DetectionAverage::Macro, "How classes become one value");
};

/// The mean average precision of detected boxes as COCO defines it, or another of COCO's values.
///
/// `update` takes, for a batch of images: boxes of detections, floating [images, detections, 4], in pixels; their
/// scores, floating [images, detections]; their labels, integers [images, detections]; boxes of targets, floating
/// [images, targets, 4]; their labels, integers [images, targets]; then, if wanted, `iscrowd`, bool or integers
/// [images, targets], and `area`, numbers [images, targets], where 0 means that of the box. A negative label fills up
/// rows: its box does not count. All boxes are kept; compute reads them on the host.
///
/// compute: a scalar, -1 if no target counts; with class_metrics [classes], those that occur in detections or targets,
/// by rising label. The thresholds are float32's nearest, as torchmetrics has them: a recall that COCO's own tool finds
/// equal to 0.1 is below it. Images of several ranks are in the order of the ranks, which decides between equal scores.
/// Source: https://lightning.ai/docs/torchmetrics/stable/detection/mean_average_precision.html (iou_type bbox)
class MeanAveragePrecision final : public Cloneable<MeanAveragePrecision> {
 public:
  using Options = MeanAveragePrecisionOptions;
  /// Throws levin::UsageError for bad options.
  explicit MeanAveragePrecision(Options options = {});

 private:
  void update_inputs(at::TensorList inputs) override;
  at::Tensor compute_value() const override;
  std::vector<CocoImage> images() const;

  Options options_;
  size_t images_, detections_, targets_;
};

}  // namespace metrics
}  // namespace levin
