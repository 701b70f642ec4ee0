#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/metrics/engine/segmentation_input.h>
#include <levin/modules/metrics/metric.h>

#include <cstdint>
#include <optional>

namespace levin::metrics {

/// Arguments of MeanIoU, with torchmetrics' names and defaults.
struct MeanIoUOptions {
  std::optional<int64_t> num_classes =
      LEVIN_OPTION(num_classes, {}, "Classes, the background included; required", {.min = 1});
  bool include_background = LEVIN_OPTION(include_background, true, "Count class 0 too");
  bool per_class = LEVIN_OPTION(per_class, false, "One value for each class");
  Choice<SegmentationFormat> input_format =
      LEVIN_OPTION(input_format, SegmentationFormat::OneHot, "What preds and target hold; mixed: one of them each");
};

/// Mean intersection over union of segmentations: the mean over all pairs of a sample and a class that occurs in its
/// target or prediction. JaccardIndex instead counts the elements of all samples together.
///
/// `update` takes integers or bool: one-hot [batch, classes, ...] (a voxel may belong to several classes) or indices
/// [batch, ...]; an index beyond the classes belongs to no class. compute: a scalar, NaN if no class occurred; with
/// per_class [classes], -1 for classes that never occurred. Source:
/// https://lightning.ai/docs/torchmetrics/stable/segmentation/mean_iou.html
class MeanIoU final : public Cloneable<MeanIoU> {
 public:
  using Options = MeanIoUOptions;
  /// Throws levin::UsageError for bad options.
  explicit MeanIoU(Options options);

 private:
  void update_states(const at::Tensor& preds, const at::Tensor& target) override;
  at::Tensor compute_value() const override;

  SegmentationTask task_;
  bool per_class_;
  size_t score_, count_;
};

}  // namespace levin::metrics
