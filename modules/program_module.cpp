#include <levin/modules/program_module.h>
#include <levin/core/system/error.h>
#include <levin/modules/adapters/while_merged.h>
#include <levin/modules/nn/named_loss.h>
#include <levin/modules/program_module_impl.h>

#include <utility>

namespace levin {

std::vector<std::string> program_losses() { return losses_without(NamedLoss::Script); }

ProgramModule::ProgramModule(Options options_) : ImportedModule("ProgramModule"), options(std::move(options_)) {
  impl_ = std::make_unique<Impl>(*this, options);
  save_hyperparameters(options);
  if (options.loss == NamedLoss::Auto && impl_->makes_one_number()) options.loss = NamedLoss::Output;
  set_parameter_names(impl_->input_names, impl_->input_names.size());
  if (parameters().empty()) throw UsageError(options.program, ": the program has no parameters to train");
  load_initial_weights(*this, options.initial);
  if (!options.measured.metrics.empty())
    impl_->named_measured = has_own_loss() || !options.metric_output.empty()
                                ? impl_->find_measured("metrics", options.metric_output)
                                : impl_->result;
  std::vector<std::string> own = {"loss", "acc"};
  if (options.metric == OutputMetric::MeanAbsoluteError) own.emplace_back("mae");
  if (options.metric == OutputMetric::MeanSquaredError) own.emplace_back("mse");
  set_metrics("ProgramModule", own);
  train();
}

ProgramModule::~ProgramModule() = default;

std::vector<at::Tensor> ProgramModule::run_program(const std::vector<at::Tensor>& inputs) { return impl_->run(inputs); }

at::Tensor ProgramModule::chosen(const std::vector<at::Tensor>& outputs) const {
  const at::Tensor& output = outputs.at(impl_->result);
  if (!output.defined())
    throw UsageError("model.output: output '", impl_->output_names[impl_->result], "' of ", options.program,
                     " is no tensor; choose another one");
  return output;
}

at::Tensor ProgramModule::forward(const std::vector<at::Tensor>& inputs) { return chosen(impl_->run(inputs)); }

at::Tensor ProgramModule::result_of(const std::vector<at::Tensor>& outputs) const {
  at::Tensor output = chosen(outputs);
  if (has_own_loss() && output.numel() != 1)
    throw UsageError("model.loss: the output of ", options.program, " is ", output.sizes(),
                     ", and a loss is one number; choose a loss by name");
  return output;
}

const std::vector<std::string>& ProgramModule::input_names() const { return impl_->input_names; }
const std::vector<std::string>& ProgramModule::output_names() const { return impl_->output_names; }

ImportedTensor ProgramModule::described_parameter(size_t place) const { return impl_->described_input(place); }

ImportedTensor ProgramModule::described_output() const {
  ImportedTensor output = impl_->described_output();
  output.name = "input";
  return output;
}

void ProgramModule::save_program(const std::filesystem::path& path) const {
  const adapters::WhileMerged merged(*this);
  impl_->save(path);
}

ImportedModule::Choices ProgramModule::choices() const {
  return {options.program,   options.loss,         options.inputs, options.class_dimension, options.save_to,
          options.optimizer, options.lr_scheduler, options.groups, options.measured};
}

bool ProgramModule::has_own_loss() const { return options.loss == NamedLoss::Output; }

at::Tensor ProgramModule::own_loss(const std::vector<at::Tensor>& inputs, const at::Tensor& /*target*/) {
  return result_of(impl_->run(inputs));
}

/// A dimension whose size may differ counts no classes.
ClassDimension ProgramModule::known_class_dimension() const {
  const auto sizes = impl_->described_output().sizes;
  if (!sizes || sizes->size() < 3) return ClassDimension::Auto;
  const bool second_may_differ = sizes->at(1) < 0, last_may_differ = sizes->back() < 0;
  if (second_may_differ == last_may_differ) return ClassDimension::Auto;
  return second_may_differ ? ClassDimension::Last : ClassDimension::Second;
}

const at::Tensor& ProgramModule::metric_target_of(const Batch& batch) const {
  if (!options.metric_target.empty()) return batch[options.metric_target];
  return batch.contains("target") || !batch.contains("labels") ? batch.target() : batch["labels"];
}

at::Tensor ProgramModule::output_to_measure(const std::vector<at::Tensor>& outputs, size_t place) const {
  if (!outputs.at(place).defined())
    throw UsageError("model.metric_output: output '", impl_->output_names[place], "' of ", options.program,
                     " is no tensor; choose another one");
  return outputs[place];
}

std::pair<at::Tensor, at::Tensor> ProgramModule::measured_of(const Batch& batch,
                                                             const std::vector<at::Tensor>& outputs) const {
  return {output_to_measure(outputs, impl_->named_measured), metric_target_of(batch)};
}

void ProgramModule::log_metrics(const Batch& batch, const std::vector<at::Tensor>& outputs, const std::string& stage) {
  if (options.metric == OutputMetric::None) return;
  const at::Tensor output = output_to_measure(outputs, impl_->measured);
  const at::Tensor& target = metric_target_of(batch);
  const OutputScore score = measure_output(options.metric, output, target, options.class_dimension);
  if (!score.value.defined()) return;
  LogOptions how{.prog_bar = score.is_shown};
  if (score.counted > 0) how.batch_size = score.counted;
  log(stage + "_" + score.name, score.value, how);
}

}  // namespace levin
