#include <levin/modules/script_module.h>
#include <levin/core/system/error.h>
#include <levin/data/remote/local_path.h>
#include <levin/modules/adapters/while_merged.h>
#include <levin/modules/script_file.h>

#include <utility>

namespace levin {
namespace {

torch::jit::Module load_script_of(const ScriptModuleOptions& options) {
  schema_of<ScriptModuleOptions>().check(&options, "model");
  if (options.file.empty()) throw UsageError("model.file: missing; name a TorchScript file with --model.file");
  return load_script(local_path(options.file));
}

/// Resolves the option `loss`. Without a script loss, Auto stays until there are tensors. Throws levin::UsageError if
/// the script lacks the requested method.
NamedLoss chosen_loss(const ScriptModuleOptions& options, const torch::jit::Module& script) {
  const bool has_loss = script.find_method("loss").has_value();
  if (options.loss == NamedLoss::Script && !has_loss)
    throw UsageError("model.loss: ", options.file,
                     " has no method loss(input, target) (mark it with "
                     "@torch.jit.export in Python); choose a loss by name, cross_entropy or mse_loss say");
  if (options.loss == NamedLoss::Auto && has_loss) return NamedLoss::Script;
  return options.loss;
}

}  // namespace

std::vector<std::string> script_losses() { return losses_without(NamedLoss::Output); }

ScriptModule::ScriptModule(Options options_)
    : ImportedModule("ScriptModule"), options(std::move(options_)), script_(load_script_of(options)) {
  save_hyperparameters(options);
  options.loss = chosen_loss(options, script_);
  const std::vector<c10::Argument>& arguments = script_.get_method("forward").function().getSchema().arguments();
  std::vector<std::string> names;
  size_t required = 0;
  for (size_t i = 1; i < arguments.size(); ++i) {  // after self
    names.push_back(arguments[i].name());
    if (!arguments[i].default_value()) required = i;
  }
  set_parameter_names(std::move(names), required);
  tensors_.bind(*this, script_);
  if (parameters().empty())
    throw UsageError(options.file,
                     ": the module has no parameters to train; save it before torch.jit.freeze or "
                     "optimize_for_inference, which turn them into constants");
  load_initial_weights(*this, options.initial);
  set_metrics("ScriptModule", {"loss", "acc"});
  train();
}

void ScriptModule::train(bool on) {
  LightningModule::train(on);
  set_script_mode(script_, on);
}

c10::IValue ScriptModule::call(const std::string& method, std::vector<c10::IValue> arguments) {
  tensors_.push();
  c10::IValue result = script_.get_method(method)(std::move(arguments));
  tensors_.pull();
  return result;
}

at::Tensor ScriptModule::forward(const std::vector<at::Tensor>& inputs) {
  const c10::IValue output = call("forward", {inputs.begin(), inputs.end()});
  if (!output.isTensor())
    throw UsageError(options.file, ": its forward returns a ", output.tagKind(),
                     ", a tensor was expected; give the script a method loss(input, target) (@torch.jit.export)");
  return output.toTensor();
}

at::Tensor ScriptModule::own_loss(const std::vector<at::Tensor>& inputs, const at::Tensor& target) {
  std::vector<c10::IValue> arguments(inputs.begin(), inputs.end());
  arguments.emplace_back(target);
  const c10::IValue loss = call("loss", std::move(arguments));
  if (!loss.isTensor()) throw UsageError(options.file, ": its loss returns a ", loss.tagKind(), ", not a tensor");
  return loss.toTensor();
}

ImportedModule::Choices ScriptModule::choices() const {
  return {options.file,      options.loss,         options.inputs, options.class_dimension, options.save_to,
          options.optimizer, options.lr_scheduler, options.groups, options.measured};
}

bool ScriptModule::has_own_loss() const { return options.loss == NamedLoss::Script; }

void ScriptModule::save_script(const std::filesystem::path& path) {
  const adapters::WhileMerged merged(*this);
  tensors_.push();
  levin::save_script(script_, path);
}

}  // namespace levin
