#pragma once
#include <levin/modules/detection/detections.h>
#include <levin/modules/detection/fcos_network.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/lr_schedulers/registry.h>
#include <levin/modules/metrics/mean_average_precision.h>
#include <levin/modules/nn/grouped_parameters.h>
#include <levin/modules/nn/initial_weights.h>
#include <levin/modules/optim/registry.h>

#include <cstdint>
#include <deque>
#include <map>
#include <string>

namespace levin::nn {

struct FCOSOptions {
  int64_t num_classes = LEVIN_OPTION(num_classes, 80, "Number of classes", {.min = 1, .max = 1 << 20});
  int64_t width = LEVIN_OPTION(width, 32,
                               "Channels of the backbone's first stage, a multiple of 8; each next one has twice as "
                               "many, up to 8 times",
                               {.min = 8, .max = 4096});
  int64_t channels = LEVIN_OPTION(channels, 64, "Channels of the feature pyramid and the heads, a multiple of 8",
                                  {.min = 8, .max = 65536});
  int64_t first_stride = LEVIN_OPTION(
      first_stride, 8, "Pixels between locations of the finest level, a power of 2; smaller for small objects",
      {.min = 4, .max = 64});
  int64_t levels = LEVIN_OPTION(levels, 3, "Levels of the pyramid, each with twice the stride of the one before",
                                {.min = 1, .max = 6});
  int64_t head_layers =
      LEVIN_OPTION(head_layers, 2, "Convolutions of each head before its outputs", {.min = 0, .max = 16});
  double score_threshold =
      LEVIN_OPTION(score_threshold, 0.05, "Boxes of lower scores are not detections", {.min = 0, .max = 1});
  double nms_threshold =
      LEVIN_OPTION(nms_threshold, 0.6, "Of boxes of one class whose IoU is more, the one with the highest score counts",
                   {.min = 0, .max = 1});
  int64_t max_detections = LEVIN_OPTION(max_detections, 100, "Detections of an image, those with the highest scores",
                                        {.min = 1, .max = 1000});
  InitialWeights initial = {};  // its options are flattened into this struct
  ClassChoice<optim::OptimizerKind> optimizer = LEVIN_OPTION(optimizer, {"AdamW"}, "Optimizer");
  ClassChoice<LRSchedulerKind> lr_scheduler = LEVIN_OPTION(lr_scheduler, {}, "Learning rate schedule; unset: none");
  ParameterGroups groups = {};  // its options are flattened into this struct
};

/// Detects objects by FCOS, a network without anchors (see FCOSNetwork). Takes the batches of the data module
/// Detection: `input` [batch, 3, height, width], float; `boxes` [batch, most, 4] and `labels` [batch, most], of which
/// those count that are not negative; and if there are any, `iscrowd`, whose boxes are not learned, `area` and `scale`
/// (see DetectionDataset).
///
/// Logs `train_loss` and its parts `train_class_loss`, `train_box_loss` and `train_centerness_loss`; `val_loss`,
/// `val_map` and `val_map_50`, COCO's mean average precision in pixels of the files' images; test the same as
/// `test_...`. Parameters are named `net.class_output.weight` etc.
class FCOS : public LightningModule {
 public:
  using Options = FCOSOptions;

  FCOS() : FCOS(Options{}) {}
  /// Throws levin::UsageError for bad options and a weights file that is missing or does not fit.
  explicit FCOS(Options options);

  /// Returns what the network says at each location; throws levin::UsageError for images of another shape.
  FCOSOutput forward(const at::Tensor& images);
  /// Returns the detections of a batch, in pixels of the files' images.
  Detections detect(const Batch& batch);

  StepOutput training_step(const Batch& batch, int64_t batch_idx) override;
  void validation_step(const Batch& batch, int64_t batch_idx) override;
  void test_step(const Batch& batch, int64_t batch_idx) override;
  /// Returns `boxes` [batch, max_detections, 4], `scores` and `labels` [batch, max_detections], as Detections.
  Batch predict_step(const Batch& batch, int64_t batch_idx) override;
  /// `forward`: `boxes` [batch, locations, 4] and `scores` [batch, locations, classes] of all locations, in pixels of
  /// the input.
  std::map<std::string, BatchFunction> export_functions() override;
  OptimizerConfig configure_optimizers() override;
  /// Throws levin::UsageError if the data have another number of classes.
  void on_fit_start(Run& run) override;

  Options options;
  FCOSNetwork net{nullptr};

 private:
  using MeanPrecision = metrics::MeanAveragePrecision;
  struct Metrics {
    std::deque<MeanPrecision> map = {}, map_50 = {};
  };
  /// Returns the loss of the batch, and logs its parts.
  at::Tensor loss_of(const FCOSOutput& output, const Batch& batch, const std::string& stage);
  Detections detections_of(const FCOSOutput& output, const Batch& batch) const;
  void evaluate(const Batch& batch, const std::string& stage, Metrics& metrics);

  Metrics val_ = {}, test_ = {};
};

}  // namespace levin::nn
