#include <ATen/ops/l1_loss.h>
#include <levin/core/system/error.h>
#include <levin/data/data_module.h>
#include <levin/data/tabular_data.h>
#include <levin/modules/nn/class_loss.h>
#include <levin/modules/nn/configured_optimizer.h>
#include <levin/modules/nn/tabular.h>

namespace levin::nn {
namespace {

void take_columns(data::DataModule& data, TabularNetOptions& options) {
  auto* const table = dynamic_cast<data::TabularData*>(&data);
  if (options.features || table == nullptr) return;
  const data::TabularSizes sizes = table->tabular_sizes();
  options.features = sizes.features;
  options.category_sizes = sizes.categories;
}

}  // namespace

MLPRegressor::MLPRegressor(Options options_) : options(std::move(options_)) {
  schema_of<Options>().check(&options, "model");
  save_hyperparameters(options);
  if (options.net.features) MLPRegressor::make_net();
}

void MLPRegressor::take_sizes(data::DataModule& data) { take_columns(data, options.net); }

void MLPRegressor::make_net() {
  save_hyperparameters(options);
  // Replicas and what is loaded from a checkpoint know the sizes from the start.
  ModuleAccess::remember(
      *this, [made_of = options] { return make_module<MLPRegressor>(made_of); }, overridden_by<MLPRegressor>());
  TabularModule::make_net(options.net, options.outputs, options.initial);
  named_metrics_.set(*this, "MLPRegressor", options.measured, {"loss", "mae"});
  named_metrics_.use({.learned = metrics::Learned::Numbers, .columns = options.outputs});
}

at::Tensor MLPRegressor::loss_of(const at::Tensor& output, const at::Tensor& target) const {
  const at::Tensor numbers = target.dim() == 1 ? target.unsqueeze(1) : target;
  if (!target.is_floating_point() || numbers.sizes() != output.sizes())
    throw UsageError("model.outputs: the model predicts ", output.sizes(), " numbers, the target is ",
                     target.scalar_type(), " ", target.sizes(),
                     target.is_floating_point() ? ""
                                                : "; for a target of numbers set data.target_type number (Csv), "
                                                  "for classes choose MLPClassifier");
  return compute_loss(options.loss, output, numbers);
}

void MLPRegressor::log_score(const std::string& stage, const at::Tensor& output, const at::Tensor& target) {
  log(stage + "_mae", at::l1_loss(output, target.reshape_as(output)), {.prog_bar = true});
}

Batch MLPRegressor::predict_step(const Batch& batch, int64_t /*batch_idx*/) { return Batch(forward(batch)); }

OptimizerConfig MLPRegressor::configure_optimizers() {
  return configured_optimizer(options.optimizer, options.lr_scheduler, *this, options.groups);
}

MLPClassifier::MLPClassifier(Options options_) : options(std::move(options_)) {
  schema_of<Options>().check(&options, "model");
  save_hyperparameters(options);
  if (options.net.features && options.num_classes) MLPClassifier::make_net();
}

void MLPClassifier::take_sizes(data::DataModule& data) {
  take_columns(data, options.net);
  auto* const table = dynamic_cast<data::TabularData*>(&data);
  if (options.num_classes || table == nullptr) return;
  const int64_t classes = table->tabular_sizes().classes;
  if (classes < 2)
    throw UsageError(
        "model.num_classes: not set, and the data have ", classes,
        " classes; name their target (of Csv data.target, data.target_type class; of other tables a column of "
        "texts in data.fields), or set it");
  options.num_classes = classes;
}

void MLPClassifier::make_net() {
  save_hyperparameters(options);
  ModuleAccess::remember(
      *this, [made_of = options] { return make_module<MLPClassifier>(made_of); }, overridden_by<MLPClassifier>());
  TabularModule::make_net(options.net, *options.num_classes, options.initial);
  named_metrics_.set(*this, "MLPClassifier", options.measured, {"loss", "acc"});
  named_metrics_.use({.learned = metrics::Learned::Multiclass, .columns = *options.num_classes});
}

at::Tensor MLPClassifier::loss_of(const at::Tensor& logits, const at::Tensor& target) const {
  return cross_entropy_of(logits, target, "set model.num_classes");
}

void MLPClassifier::log_score(const std::string& stage, const at::Tensor& logits, const at::Tensor& target) {
  log(stage + "_acc", logits.argmax(1).eq(target).to(at::kFloat).mean(), {.prog_bar = true});
}

Batch MLPClassifier::predict_step(const Batch& batch, int64_t /*batch_idx*/) {
  return Batch(forward(batch).softmax(1));
}

OptimizerConfig MLPClassifier::configure_optimizers() {
  return configured_optimizer(options.optimizer, options.lr_scheduler, *this, options.groups);
}

}  // namespace levin::nn
