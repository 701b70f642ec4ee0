#pragma once
#include <levin/modules/lightning_module.h>
#include <levin/modules/lr_schedulers/registry.h>
#include <levin/modules/metrics/named_metrics.h>
#include <levin/modules/nn/grouped_parameters.h>
#include <levin/modules/nn/initial_weights.h>
#include <levin/modules/nn/named_loss.h>
#include <levin/modules/optim/registry.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/container/sequential.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace levin::data {
class DataModule;
}

namespace levin::nn {

struct TabularNetOptions {
  std::optional<int64_t> features = LEVIN_OPTION(
      features, {}, "Numbers in `input` of each sample; unset: as many as the data (Csv) have", {.min = 0});
  std::vector<int64_t> category_sizes =
      LEVIN_OPTION(category_sizes, {},
                   "Values of each column of `category`; with features unset: those that the data have", {.min = 1});
  int64_t embedding = LEVIN_OPTION(
      embedding, 0, "Numbers that stand for a category; 0: half as many as it has values, at most 50", {.min = 0});
  std::vector<int64_t> hidden = LEVIN_OPTION(hidden, {64, 64}, "Units of each hidden layer", {.min = 1});
  bool batch_norm = LEVIN_OPTION(batch_norm, false, "Normalize the units of each hidden layer over the batch");
  double dropout =
      LEVIN_OPTION(dropout, 0, "Share of the hidden units that is dropped in training", {.min = 0, .exclusive_max = 1});
};

/// A network for rows of a table: concatenates `input` [samples, features], floating, and an embedding of each column
/// of `category` [samples, columns], int64, and maps them by linear layers with ReLU to [samples, outputs].
class TabularNet : public torch::nn::Module {
 public:
  /// `options.features` must be set. Throws levin::UsageError if there are neither features nor categories.
  TabularNet(const TabularNetOptions& options, int64_t outputs);
  /// Throws levin::UsageError that names the option if the batch has different columns.
  at::Tensor forward(const Batch& batch);

 private:
  void check(const Batch& batch) const;

  int64_t features_, categories_;
  torch::nn::ModuleList embeddings_ = {};
  torch::nn::Sequential layers_ = {};
};

/// The base class of MLPRegressor and MLPClassifier. The net is made as soon as its sizes are known, from the options
/// or, in `setup`, from the data module; levin::tune needs the sizes in the options. Parameters are named
/// `net.embeddings.0.weight` etc. and `net.layers.0.weight` etc.
class TabularModule : public LightningModule {
 public:
  /// Throws levin::UsageError if the sizes are neither in the options nor in the run's data (Csv).
  void setup(Run& run) override;
  /// Returns [samples, outputs]; throws levin::UsageError as TabularNet, and before the sizes are known.
  at::Tensor forward(const Batch& batch);

  StepOutput training_step(const Batch& batch, int64_t batch_idx) override;
  void validation_step(const Batch& batch, int64_t batch_idx) override;
  void test_step(const Batch& batch, int64_t batch_idx) override;
  /// `forward`: what the loss is computed from, logits for classes.
  std::map<std::string, BatchFunction> export_functions() override;

 protected:
  using LightningModule::LightningModule;
  /// Returns the option of a size that is not set, "model.features"; empty if all are.
  virtual std::string unknown_size() const = 0;
  virtual void take_sizes(data::DataModule& data) = 0;
  /// Makes the net; called once, by the constructor or by `setup`.
  virtual void make_net() = 0;
  void make_net(const TabularNetOptions& options, int64_t outputs, const InitialWeights& weights);
  /// Throws levin::UsageError if the target does not match the output.
  virtual at::Tensor loss_of(const at::Tensor& output, const at::Tensor& target) const = 0;
  /// Logs the metric of an evaluation besides the loss; `stage` is "val" or "test".
  virtual void log_score(const std::string& stage, const at::Tensor& output, const at::Tensor& target) = 0;

  metrics::NamedMetrics named_metrics_ = {};  ///< the derived class sets them

 private:
  void evaluate(const Batch& batch, const std::string& stage);
  void log_metrics(const std::string& stage, const at::Tensor& output, const at::Tensor& target);

  std::shared_ptr<TabularNet> net_ = {};
};

struct MLPRegressorOptions {
  TabularNetOptions net = {};  // its options are flattened into this struct
  int64_t outputs = LEVIN_OPTION(outputs, 1, "Numbers that are predicted", {.min = 1});
  Choice<NamedLoss> loss =
      LEVIN_OPTION(loss, NamedLoss::MseLoss, "Loss", {.choices = {"mse_loss", "l1_loss", "smooth_l1_loss"}});
  InitialWeights initial = {};  // its options are flattened into this struct
  ClassChoice<optim::OptimizerKind> optimizer = LEVIN_OPTION(optimizer, {"Adam"}, "Optimizer");
  ClassChoice<LRSchedulerKind> lr_scheduler = LEVIN_OPTION(lr_scheduler, {}, "Learning rate schedule; unset: none");
  ParameterGroups groups = {};           // its options are flattened into this struct
  metrics::MetricChoices measured = {};  // its options are flattened into this struct
};

/// Predicts numbers, `target` [samples] or [samples, outputs], floating, from the rows of a table (see TabularNet).
///
/// Logs train_loss; val_loss and val_mae, the mean absolute error; test_loss and test_mae; and the option `metrics`.
class MLPRegressor : public TabularModule {
 public:
  using Options = MLPRegressorOptions;
  MLPRegressor() : MLPRegressor(Options{}) {}
  /// Throws levin::UsageError for bad options and a weights file that is missing or does not fit.
  explicit MLPRegressor(Options options);

  /// Returns the numbers as `input` [samples, outputs].
  Batch predict_step(const Batch& batch, int64_t batch_idx) override;
  OptimizerConfig configure_optimizers() override;

  Options options;

 protected:
  std::string unknown_size() const override { return options.net.features ? "" : "model.features"; }
  void take_sizes(data::DataModule& data) override;
  void make_net() override;
  at::Tensor loss_of(const at::Tensor& output, const at::Tensor& target) const override;
  void log_score(const std::string& stage, const at::Tensor& output, const at::Tensor& target) override;
};

struct MLPClassifierOptions {
  TabularNetOptions net = {};  // its options are flattened into this struct
  std::optional<int64_t> num_classes =
      LEVIN_OPTION(num_classes, {}, "Number of classes; unset: as many as the data (Csv) have", {.min = 2});
  InitialWeights initial = {};  // its options are flattened into this struct
  ClassChoice<optim::OptimizerKind> optimizer = LEVIN_OPTION(optimizer, {"Adam"}, "Optimizer");
  ClassChoice<LRSchedulerKind> lr_scheduler = LEVIN_OPTION(lr_scheduler, {}, "Learning rate schedule; unset: none");
  ParameterGroups groups = {};           // its options are flattened into this struct
  metrics::MetricChoices measured = {};  // its options are flattened into this struct
};

/// Predicts one of several classes, `target` [samples], int64, from the rows of a table (see TabularNet).
///
/// Logs train_loss; val_loss and val_acc; test_loss and test_acc; and the option `metrics`.
class MLPClassifier : public TabularModule {
 public:
  using Options = MLPClassifierOptions;
  MLPClassifier() : MLPClassifier(Options{}) {}
  /// Throws levin::UsageError for bad options and a weights file that is missing or does not fit.
  explicit MLPClassifier(Options options);

  /// Returns the probability of each class as `input` [samples, classes].
  Batch predict_step(const Batch& batch, int64_t batch_idx) override;
  OptimizerConfig configure_optimizers() override;

  Options options;

 protected:
  std::string unknown_size() const override {
    if (!options.net.features) return "model.features";
    return options.num_classes ? "" : "model.num_classes";
  }
  void take_sizes(data::DataModule& data) override;
  void make_net() override;
  at::Tensor loss_of(const at::Tensor& logits, const at::Tensor& target) const override;
  void log_score(const std::string& stage, const at::Tensor& logits, const at::Tensor& target) override;
};

}  // namespace levin::nn
