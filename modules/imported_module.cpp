#include <levin/modules/imported_module.h>
#include <levin/core/run/run.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/joined.h>
#include <levin/data/ignored_target.h>
#include <levin/data/remote/output_place.h>
#include <levin/modules/nn/configured_optimizer.h>

#include <algorithm>
#include <utility>

namespace levin {
namespace {

/// "features.pair.0" is also found as "pair.0", and as "0".
std::string name_in(const Batch& batch, std::string name) {
  while (!batch.contains(name) && name.find('.') != std::string::npos) name.erase(0, name.find('.') + 1);
  return name;
}

bool learns_classes(NamedLoss loss, const at::Tensor& target) {
  return compares_classes(loss) && !target.is_floating_point();
}

}  // namespace

void ImportedModule::set_parameter_names(std::vector<std::string> names, size_t required) {
  parameter_names_ = std::move(names);
  required_inputs_ = required;
  const size_t given = choices().inputs.size();
  if (given > 0 && (given < required_inputs_ || given > parameter_names_.size()))
    throw UsageError("model.inputs: names ", given, " entries of the batch (", joined(choices().inputs),
                     "), and forward of ", choices().file, " takes ", parameter_names_.size(), " (",
                     joined(parameter_names_), ")");
}

void ImportedModule::set_metrics(const std::string& module, const std::vector<std::string>& own) {
  if (choices().measured.metrics.empty()) return;
  if (has_own_loss() && !takes_target())
    throw UsageError("model.metrics: the loss is a method of ", choices().file,
                     ", and no output is left to measure; choose a loss by name");
  named_metrics_.set(*this, module, choices().measured, own, /*counts_in_training=*/false);
}

std::vector<ImportedTensor> ImportedModule::described_inputs() const {
  const std::vector<std::string>& names = choices().inputs.empty() ? parameter_names_ : choices().inputs;
  std::vector<ImportedTensor> inputs;
  for (size_t i = 0; i < names.size(); ++i) {
    inputs.push_back(described_parameter(i));
    inputs.back().name = names[i];
  }
  return inputs;
}

at::Tensor ImportedModule::loss(const std::vector<at::Tensor>& inputs, const at::Tensor& target) {
  if (has_own_loss()) return own_loss(inputs, target);
  const at::Tensor output = forward(inputs);
  return compared(loss_for_tensors(output, target), output, target);
}

ClassDimension ImportedModule::class_dimension() const {
  return choices().class_dimension == ClassDimension::Auto ? known_class_dimension() : choices().class_dimension;
}

NamedLoss ImportedModule::loss_for_tensors(const at::Tensor& output, const at::Tensor& target) const {
  return choices().loss == NamedLoss::Auto ? loss_for(output, target) : choices().loss;
}

at::Tensor ImportedModule::compared(NamedLoss loss, const at::Tensor& output, const at::Tensor& target) const {
  if (!compares_classes(loss)) return compute_loss(loss, output, target);
  const auto [values, classes] = with_classes_second(output, target, class_dimension());
  return compute_loss(loss, values, classes);
}

std::vector<at::Tensor> ImportedModule::inputs_of(const Batch& batch) {
  std::vector<std::string> used = choices().inputs;
  for (size_t i = 0; choices().inputs.empty() && i < parameter_names_.size(); ++i) {
    const std::string name = name_in(batch, parameter_names_[i]);
    const bool has_it = (name != "target" || takes_target()) && batch.contains(name);
    if (!has_it && i > 0 && i >= required_inputs_) break;
    if (!has_it && i > 0 && takes_target() && batch.contains("target") && i + 1 == parameter_names_.size()) {
      used.emplace_back("target");
      break;
    }
    if (!has_it && (i > 0 || !batch.contains("input")))
      throw UsageError("model.inputs: forward of ", choices().file, " takes ", joined(parameter_names_),
                       "; the batch has no '", parameter_names_[i], "', it has ", joined(batch.names()),
                       "; name its entries in forward's order with --model.inputs");
    used.push_back(has_it ? name : "input");
  }
  if (choices().inputs.empty()) warn_of_unused(batch, used);
  std::vector<at::Tensor> inputs;
  for (const std::string& name : used) inputs.push_back(batch[name]);
  return inputs;
}

/// Warns once about batch entries that forward never receives.
void ImportedModule::warn_of_unused(const Batch& batch, const std::vector<std::string>& used) {
  if (std::exchange(looked_for_unused_, true)) return;
  for (const std::string& name : batch.names())
    if (name != "target" && std::ranges::count(used, name) == 0)
      console::warn("the batch has '" + name + "', which forward of " + choices().file + " (" +
                    joined(parameter_names_) +
                    ") does not get; give it a parameter of this name, or name its "
                    "inputs with --model.inputs");
}

/// A file's own loss may do without `target`: what it compares with may have another name.
at::Tensor ImportedModule::loss_of(const Batch& batch) {
  const std::vector<at::Tensor> inputs = inputs_of(batch);
  return loss(inputs, takes_target() && !batch.contains("target") ? at::Tensor() : batch.target());
}

StepOutput ImportedModule::training_step(const Batch& batch, int64_t /*batch_idx*/) {
  if (has_own_loss()) {
    const at::Tensor value = loss_of(batch);
    log("train_loss", value, {.prog_bar = true});
    return value;
  }
  const at::Tensor output = forward(inputs_of(batch));
  const at::Tensor& target = batch.target();
  const NamedLoss chosen = loss_for_tensors(output, target);
  const at::Tensor value = compared(chosen, output, target);
  log("train_loss", value, {.prog_bar = true});
  const bool has_ignored = learns_classes(chosen, target) && output.dim() > 2;
  return has_ignored ? weighed_by_targets(*this, value, target) : StepOutput(value);
}

void ImportedModule::validation_step(const Batch& batch, int64_t /*batch_idx*/) { evaluate(batch, "val"); }

void ImportedModule::test_step(const Batch& batch, int64_t /*batch_idx*/) { evaluate(batch, "test"); }

/// The tensors tell what is learned, as they tell the loss.
void ImportedModule::log_named_metrics(const Batch& batch, const std::vector<at::Tensor>& outputs,
                                       const std::string& stage) {
  if (!named_metrics_.are_logged(stage)) return;
  const auto [output, target] = measured_of(batch, outputs);
  const bool is_of_logits = choices().loss == NamedLoss::BinaryCrossEntropyWithLogits;
  if (is_of_logits || (!target.is_floating_point() && output.sizes() == target.sizes())) {
    const bool has_labels = output.dim() > 1 && output.size(1) > 1;
    named_metrics_.use({.learned = has_labels ? metrics::Learned::Multilabel : metrics::Learned::Binary,
                        .columns = has_labels ? output.size(1) : 1});
    const at::Tensor scores = is_of_logits ? output.sigmoid() : output;
    return named_metrics_.log(stage, scores.reshape_as(target),
                              target.is_floating_point() ? target.gt(0.5).to(at::kLong) : target);
  }
  if (target.is_floating_point()) {
    named_metrics_.use({.learned = metrics::Learned::Numbers, .columns = output.dim() > 1 ? output.size(1) : 1});
    return named_metrics_.log(stage, output.reshape_as(target), target);
  }
  const auto [values, classes] = with_classes_second(output, target, class_dimension());
  named_metrics_.use({.learned = metrics::Learned::Multiclass,
                      .columns = values.dim() > 1 ? values.size(1) : 1,
                      .ignore_index = kIgnoredTarget});
  named_metrics_.log(stage, values, classes);
}

void ImportedModule::evaluate(const Batch& batch, const std::string& stage) {
  if (has_own_loss() && !takes_target()) {
    log(stage + "_loss", loss_of(batch), {.prog_bar = true});
    return;
  }
  const std::vector<at::Tensor> outputs = outputs_of(inputs_of(batch));
  const at::Tensor output = result_of(outputs);
  if (has_own_loss()) {
    log(stage + "_loss", output, {.prog_bar = true});
    log_metrics(batch, outputs, stage);
    log_named_metrics(batch, outputs, stage);
    return;
  }
  const NamedLoss chosen = loss_for_tensors(output, batch.target());
  const at::Tensor value = compared(chosen, output, batch.target());
  if (!learns_classes(chosen, batch.target())) {
    log(stage + "_loss", value, {.prog_bar = true});
  } else {
    const auto [values, classes] = with_classes_second(output, batch.target(), class_dimension());
    const bool has_ignored = output.dim() > 2;
    const ClassHits hits = count_class_hits(values, classes, has_ignored);
    const std::optional<int64_t> counted = has_ignored ? std::optional(hits.counted) : std::nullopt;
    if (counted != 0) {
      log(stage + "_loss", value, {.batch_size = counted});
      log(stage + "_acc", hits.share, {.prog_bar = true, .batch_size = counted});
    }
  }
  log_metrics(batch, outputs, stage);
  log_named_metrics(batch, outputs, stage);
}

Batch ImportedModule::predict_step(const Batch& batch, int64_t /*batch_idx*/) {
  return Batch(forward(inputs_of(batch)));
}

OptimizerConfig ImportedModule::configure_optimizers() {
  return configured_optimizer(choices().optimizer, choices().lr_scheduler, *this, choices().groups);
}

void ImportedModule::on_fit_end(Run& run) {
  if (choices().save_to.empty() || !run.comm().is_global_zero()) return;
  on_validation_model_eval();
  write_output("model.save_to", choices().save_to, [this](const auto& path) { save_as_file(path); });
  restore_training_modes();
}

}  // namespace levin
