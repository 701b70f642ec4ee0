#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/images/unet_network.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/lr_schedulers/registry.h>
#include <levin/modules/metrics/dice_score.h>
#include <levin/modules/metrics/jaccard_index.h>
#include <levin/modules/metrics/named_metrics.h>
#include <levin/modules/nn/grouped_parameters.h>
#include <levin/modules/nn/initial_weights.h>
#include <levin/modules/optim/registry.h>

#include <cstdint>
#include <deque>
#include <map>
#include <string>

namespace levin::nn {

struct UNetOptions {
  int64_t in_channels = LEVIN_OPTION(in_channels, 3, "Channels of the images", {.min = 1, .max = 1 << 16});
  int64_t num_classes =
      LEVIN_OPTION(num_classes, 2, "Number of classes, the background included", {.min = 2, .max = 1 << 16});
  int64_t base_channels = LEVIN_OPTION(
      base_channels, 64, "Channels of the first level; each level below has twice as many", {.min = 1, .max = 1 << 12});
  int64_t depth = LEVIN_OPTION(depth, 4, "How often the size of the images is halved", {.min = 1, .max = 8});
  bool batch_norm = LEVIN_OPTION(batch_norm, true, "Normalise behind each 3x3 convolution");
  double dice_weight = LEVIN_OPTION(
      dice_weight, 0, "Weight of the Dice loss, which is added to the cross-entropy; it helps with small classes",
      {.min = 0});
  InitialWeights initial = {};  // its options are flattened into this struct
  ClassChoice<optim::OptimizerKind> optimizer = LEVIN_OPTION(optimizer, {"Adam"}, "Optimizer");
  ClassChoice<LRSchedulerKind> lr_scheduler = LEVIN_OPTION(lr_scheduler, {}, "Learning rate schedule; unset: none");
  ParameterGroups groups = {};           // its options are flattened into this struct
  metrics::MetricChoices measured = {};  // its options are flattened into this struct
};

/// Segments images `input` [batch, in_channels, height, width], float: finds the class of each pixel. Learns `target`
/// [batch, height, width], int64, whose pixels kIgnoredTarget (-100) do not count.
///
/// Logs `train_loss`, the mean cross-entropy over the pixels that count, plus the Dice loss by its weight; `val_loss`,
/// `val_iou` (JaccardIndex, the mean over the classes), `val_dice` (DiceScore of all images together) and `val_acc`,
/// the share of right pixels; in test the same as `test_...`; and the option `metrics`. Parameters are those of
/// UNetNetwork behind `net.`.
class UNet : public LightningModule {
 public:
  using Options = UNetOptions;

  UNet() : UNet(Options{}) {}
  /// Throws levin::UsageError for bad options and a weights file that is missing or does not fit.
  explicit UNet(Options options);

  /// Returns logits [batch, classes, height, width]. Throws levin::UsageError for images of other channels, and for
  /// those that are too small to be halved `depth` times.
  at::Tensor forward(const at::Tensor& images);
  /// Returns the loss of logits, a scalar; 0 if no pixel counts.
  at::Tensor loss(const at::Tensor& logits, const at::Tensor& target) const;

  StepOutput training_step(const Batch& batch, int64_t batch_idx) override;
  void validation_step(const Batch& batch, int64_t batch_idx) override;
  void test_step(const Batch& batch, int64_t batch_idx) override;
  /// Returns the class of each pixel as `input`, int64 [batch, height, width].
  Batch predict_step(const Batch& batch, int64_t batch_idx) override;
  /// `forward`: the logits.
  std::map<std::string, BatchFunction> export_functions() override;
  OptimizerConfig configure_optimizers() override;
  /// Throws levin::UsageError if the data name another number of classes.
  void on_fit_start(Run& run) override;

  Options options;
  UNetNetwork net{nullptr};

 private:
  struct Metrics {
    std::deque<metrics::JaccardIndex> iou = {};
    std::deque<metrics::DiceScore> dice = {};
  };
  void evaluate(const Batch& batch, const std::string& stage, Metrics& metrics);

  Metrics val_ = {}, test_ = {};
  metrics::NamedMetrics named_metrics_ = {};
};

}  // namespace levin::nn
