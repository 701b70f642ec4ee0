#pragma once
#include <levin/core/state/safetensors.h>
#include <levin/modules/images/image_labels.h>
#include <levin/modules/images/image_network.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/lr_schedulers/registry.h>
#include <levin/modules/metrics/named_metrics.h>
#include <levin/modules/nn/grouped_parameters.h>
#include <levin/modules/nn/image_problem.h>
#include <levin/modules/nn/initial_weights.h>
#include <levin/modules/optim/registry.h>
#include <levin/modules/transformers/saves_pretrained.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace levin::nn {

struct PretrainedImageClassifierOptions {
  std::string folder = LEVIN_OPTION(
      folder, "", "Folder with config.json and *.safetensors, as save_pretrained of transformers or timm writes it");
  std::optional<int64_t> num_labels = LEVIN_OPTION(
      num_labels, {}, "Number of classes; another one than the folder has makes a new head; unset: that of the folder",
      {.min = 1, .max = 1 << 20});
  std::vector<std::string> labels =
      LEVIN_OPTION(labels, {}, "Names of the classes, in their order; empty: those of the folder, or of the data");
  std::vector<std::string> ignored_fields = LEVIN_OPTION(
      ignored_fields, {}, "Fields of config.json that levin does not know and that change nothing that is computed");
  bool interpolate_positions = LEVIN_OPTION(
      interpolate_positions, false,
      "Take images of other sizes too, for which vit and deit resize their table of positions, as transformers' "
      "interpolate_pos_encoding and timm's dynamic_img_size do it");
  std::string save_to = LEVIN_OPTION(
      save_to, "", "Folder that gets the trained model, as the one it came from, when fit ends; empty: none");
  ImageProblem problem = {};    // its option is flattened into this struct
  InitialWeights initial = {};  // its options are flattened into this struct
  ClassChoice<optim::OptimizerKind> optimizer = LEVIN_OPTION(optimizer, {"AdamW"}, "Optimizer");
  ClassChoice<LRSchedulerKind> lr_scheduler = LEVIN_OPTION(lr_scheduler, {}, "Learning rate schedule; unset: none");
  ParameterGroups groups = {};           // its options are flattened into this struct
  metrics::MetricChoices measured = {};  // its options are flattened into this struct
};

/// A pretrained network for images from a folder of transformers (vit, deit, resnet, convnext, convnextv2,
/// mobilenet_v1, mobilenet_v2) or timm (resnet, vit, convnext, mobilenetv3). Classifies images `input` [batch,
/// channels, height, width], float32, as one of the `target` classes [batch], int64; or by its option problem_type
/// finds several labels at a time, or numbers: `target` [batch, labels], float.
///
/// Logs `train_loss`, the mean cross-entropy in nats, that of each label, or the mean squared error; `val_loss` and
/// `val_acc`, or `val_mae` of numbers; in test the same as `test_...`; and the option `metrics`. Parameters and buffers
/// have the names that they have in the folder, such as `vit.encoder.layer.0.output.dense.weight`, and are float32. In
/// training mode dropout and stochastic depth have the rates of config.json.
class PretrainedImageClassifier : public LightningModule, public SavesPretrained {
 public:
  using Options = PretrainedImageClassifierOptions;

  /// Reads the folder. Throws levin::UsageError for bad options, for a folder that lacks files, for an architecture,
  /// fields and values of config.json that levin does not compute, and for weights that do not fit it.
  explicit PretrainedImageClassifier(Options options);

  /// Returns logits [batch, classes]. Throws levin::UsageError for images of another shape.
  at::Tensor forward(const at::Tensor& images);

  /// Returns the names of the classes; LABEL_0 and so on if nothing names them.
  const std::vector<std::string>& labels() const { return labels_.names; }
  /// Returns the names of the parameters that no file had: those of a new head.
  const std::vector<std::string>& new_parameters() const { return new_parameters_; }

  void save_pretrained(const std::filesystem::path& folder, uint64_t most_bytes = kMostShardBytes) override;
  void name_classes(const std::vector<std::string>& names) override;

  StepOutput training_step(const Batch& batch, int64_t batch_idx) override;
  void validation_step(const Batch& batch, int64_t batch_idx) override;
  void test_step(const Batch& batch, int64_t batch_idx) override;
  /// Returns as `input` [batch, classes] the probability of each class or label, or the numbers.
  Batch predict_step(const Batch& batch, int64_t batch_idx) override;
  /// `forward`: the logits.
  std::map<std::string, BatchFunction> export_functions() override;
  OptimizerConfig configure_optimizers() override;
  /// Takes the names of the data's classes for a head without names. Throws levin::UsageError if the data have another
  /// number of classes, or other names than the folder or model.labels says.
  void on_fit_start(Run& run) override;
  /// Writes `save_to`.
  void on_fit_end(Run& run) override;

  Options options;

 private:
  void read_labels(const nlohmann::ordered_json& json, const std::string& file, std::optional<int64_t> rows);
  void make_network(const PretrainedTensors& tensors);
  void evaluate(const Batch& batch, const std::string& stage);

  ImageNetwork network_ = {};
  ImageFeatures features_ = {};
  torch::nn::Linear head_{nullptr};
  ImageLabels labels_ = {};
  bool is_timm_ = false, has_new_head_ = false, has_other_names_ = false;
  std::vector<std::string> new_parameters_ = {};
  std::string config_text_ = {};
  SafetensorsMetadata metadata_ = {};  // of the files
  metrics::NamedMetrics named_metrics_ = {};
};

}  // namespace levin::nn
