#pragma once
#include <levin/core/options/choice.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/lr_schedulers/registry.h>
#include <levin/modules/metrics/named_metrics.h>
#include <levin/modules/nn/grouped_parameters.h>
#include <levin/modules/nn/image_problem.h>
#include <levin/modules/nn/initial_weights.h>
#include <levin/modules/nn/nets.h>
#include <levin/modules/optim/registry.h>

#include <string>
#include <vector>

namespace levin {

template <>
inline constexpr auto kWords<nn::NamedNet> = nn::kNetNames;

namespace nn {

struct ImageClassifierOptions {
  Choice<NamedNet> net = LEVIN_OPTION(net, NamedNet::LeNet, "Network");
  int64_t hidden = LEVIN_OPTION(hidden, 64, "Units of the hidden layer of mlp and mlp_bn", {.min = 1});
  int64_t num_classes = LEVIN_OPTION(num_classes, 10, "Number of classes", {.min = 1});
  std::vector<int64_t> image_shape = LEVIN_OPTION(
      image_shape, {1, 28, 28}, "Channels, height and width of the images; resnet18: any height and width", {.min = 1});
  bool small_input =
      LEVIN_OPTION(small_input, false, "For resnet18 on images of about 32x32: keep their size at first");
  ImageProblem problem = {};    // its option is flattened into this struct
  InitialWeights initial = {};  // its options are flattened into this struct
  ClassChoice<optim::OptimizerKind> optimizer = LEVIN_OPTION(optimizer, {"Adam"}, "Optimizer");
  ClassChoice<LRSchedulerKind> lr_scheduler = LEVIN_OPTION(lr_scheduler, {}, "Learning rate schedule; unset: none");
  ParameterGroups groups = {};           // its options are flattened into this struct
  metrics::MetricChoices measured = {};  // its options are flattened into this struct
};

/// Classifies images `input` [batch, channels, height, width], float, as one of the `target` classes [batch], int64; or
/// by its option problem_type finds several labels at a time, or numbers: `target` [batch, num_classes], float.
///
/// Logs `train_loss`; `val_loss` and `val_acc`, or `val_mae` of numbers; in test the same as `test_...`; and the option
/// `metrics`. Parameters are named `net.0.weight` etc., or `net.conv1.weight` etc. for resnet18.
class ImageClassifier : public LightningModule {
 public:
  using Options = ImageClassifierOptions;

  ImageClassifier() : ImageClassifier(Options{}) {}
  /// Throws levin::UsageError for bad options and a weights file that is missing or does not fit.
  explicit ImageClassifier(Options options);

  /// Returns logits [batch, classes]. Throws levin::UsageError for images of another shape.
  at::Tensor forward(const at::Tensor& images);

  StepOutput training_step(const Batch& batch, int64_t batch_idx) override;
  void validation_step(const Batch& batch, int64_t batch_idx) override;
  void test_step(const Batch& batch, int64_t batch_idx) override;
  /// Returns as `input` [batch, classes] the probability of each class or label, or the numbers.
  Batch predict_step(const Batch& batch, int64_t batch_idx) override;
  /// `forward`: the logits.
  std::map<std::string, BatchFunction> export_functions() override;
  OptimizerConfig configure_optimizers() override;

  Options options;
  Net net = {};

 private:
  void evaluate(const Batch& batch, const std::string& stage);

  metrics::NamedMetrics named_metrics_ = {};
};

}  // namespace nn
}  // namespace levin
