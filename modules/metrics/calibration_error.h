#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/metrics/engine/classification_input.h>
#include <levin/modules/metrics/metric.h>

#include <optional>
#include <string>

namespace levin::metrics {

/// Arguments of CalibrationError, with torchmetrics' names and defaults.
struct CalibrationErrorOptions {
  std::string task = LEVIN_OPTION(task, "", "Kind of classification; required", {.choices = {"binary", "multiclass"}});
  int64_t n_bins = LEVIN_OPTION(n_bins, 15, "Bins of equal width for the confidences", {.min = 1});
  std::string norm = LEVIN_OPTION(norm, "l1", "l1: expected error; l2: its root mean square; max: the largest",
                                  {.choices = {"l1", "l2", "max"}});
  std::optional<int64_t> num_classes = LEVIN_OPTION(num_classes, {}, "Classes, for multiclass", {.min = 2});
  std::optional<int64_t> ignore_index = LEVIN_OPTION(ignore_index, {}, "Targets of this value are not counted");
};

/// The difference between confidence and accuracy, in bins of the confidence.
///
/// `update` takes the inputs of `to_scores`. The confidence is the highest probability (binary: the probability of
/// class 1); a prediction is correct if that class (binary: class 1) is the target. A confidence of exactly 1 has a
/// separate bin, as in torchmetrics. Only sums per bin are stored. compute: a scalar; NaN if nothing was counted (max:
/// 0).
/// Source: https://lightning.ai/docs/torchmetrics/stable/classification/calibration_error.html
class CalibrationError final : public Cloneable<CalibrationError> {
 public:
  using Options = CalibrationErrorOptions;
  /// Throws levin::UsageError for bad options.
  explicit CalibrationError(Options options);

 private:
  void update_inputs(at::TensorList inputs) override;
  at::Tensor compute_value() const override;

  Options options_;
  ClassificationTask task_;
  size_t count_, right_, confidence_;
};

}  // namespace levin::metrics
