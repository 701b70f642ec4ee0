#include <levin/modules/script_module.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/l1_loss.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/smooth_l1_loss.h>
#include <levin/modules/nn/class_loss.h>
#include <levin/modules/nn/configured_optimizer.h>
#include <levin/modules/script_file.h>
#include <levin/trainer/core/run/run.h>
#include <levin/trainer/core/system/console.h>
#include <levin/trainer/core/system/error.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace levin {
namespace {

constexpr const char* kScriptLoss = "script";
constexpr const char* kMoreClasses = "give the model a number for each class";

torch::jit::Module load_script_of(const ScriptModuleOptions& options) {
  schema_of<ScriptModuleOptions>().check(&options, "model");
  if (options.file.empty()) throw UsageError("model.file: missing; name a TorchScript file with --model.file");
  return load_script(options.file);
}

/// Resolves the option `loss`. Without a script loss, "auto" stays until there are tensors. Throws levin::UsageError if
/// the script lacks the requested method.
std::string chosen_loss(const ScriptModuleOptions& options, const torch::jit::Module& script) {
  const bool has_loss = script.find_method("loss").has_value();
  if (options.loss == kScriptLoss && !has_loss)
    throw UsageError("model.loss: ", options.file,
                     " has no method loss(input, target) (mark it with "
                     "@torch.jit.export in Python); choose a loss by name, cross_entropy or mse_loss say");
  return options.loss == "auto" && has_loss ? kScriptLoss : options.loss;
}

/// Returns the loss that "auto" selects for these tensors.
std::string loss_for(const at::Tensor& output, const at::Tensor& target) {
  const bool one_number = output.dim() == 1 || (output.dim() == 2 && output.size(1) == 1);
  if (target.scalar_type() == at::kLong && !one_number && target.dim() + 1 == output.dim()) return "cross_entropy";
  if (target.is_floating_point() && one_number && target.numel() == output.numel()) return "mse_loss";
  throw UsageError("model.loss: auto cannot tell which loss is meant: the model makes ", output.scalar_type(), " ",
                   output.sizes(), ", the target is ", target.scalar_type(), " ", target.sizes(),
                   "; choose mse_loss for numbers, cross_entropy for classes or a probability for each, "
                   "binary_cross_entropy_with_logits for yes or no");
}

bool compares_classes(const std::string& loss) { return loss == "cross_entropy" || loss == "nll_loss"; }

/// A regression loss would broadcast one tensor to the shape of the other, which is rarely intended; only a column may
/// match a list.
at::Tensor shaped_as(const at::Tensor& output, const at::Tensor& target, const std::string& loss) {
  if (output.sizes() == target.sizes()) return target;
  if (output.dim() == target.dim() + 1 && output.size(-1) == 1 && output.numel() == target.numel())
    return target.unsqueeze(-1);
  throw UsageError("model.loss: ", loss, " compares tensors of one shape; the model makes ", output.sizes(),
                   ", the target is ", target.sizes());
}

at::Tensor loss_by_name(const std::string& name, const at::Tensor& output, const at::Tensor& given) {
  if (name == "cross_entropy") return cross_entropy_of(output, given, kMoreClasses);
  if (name == "nll_loss") return nll_of(output, given, kMoreClasses);
  at::Tensor target = shaped_as(output, given, name);
  if (!target.is_floating_point()) target = target.to(output.scalar_type());
  if (name == "mse_loss") return at::mse_loss(output, target);
  if (name == "l1_loss") return at::l1_loss(output, target);
  if (name == "smooth_l1_loss") return at::smooth_l1_loss(output, target);
  return at::binary_cross_entropy_with_logits(output, target);
}

std::string joined_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

std::vector<std::string> script_losses() {
  return {"auto",     kScriptLoss, "cross_entropy",  "nll_loss",
          "mse_loss", "l1_loss",   "smooth_l1_loss", "binary_cross_entropy_with_logits"};
}

ScriptModule::ScriptModule(Options options_)
    : LightningModule("ScriptModule"), options(std::move(options_)), script_(load_script_of(options)) {
  save_hyperparameters(options);
  options.loss = chosen_loss(options, script_);
  const std::vector<c10::Argument>& arguments = script_.get_method("forward").function().getSchema().arguments();
  for (size_t i = 1; i < arguments.size(); ++i) {  // after self
    parameter_names_.push_back(arguments[i].name());
    if (!arguments[i].default_value()) required_inputs_ = i;
  }
  if (const size_t given = options.inputs.size();
      given > 0 && (given < required_inputs_ || given > parameter_names_.size()))
    throw UsageError("model.inputs: names ", given, " entries of the batch (", joined_names(options.inputs),
                     "), and forward of ", options.file, " takes ", parameter_names_.size(), " (",
                     joined_names(parameter_names_), ")");
  tensors_.bind(*this, script_);
  if (parameters().empty())
    throw UsageError(options.file,
                     ": the module has no parameters to train; save it before torch.jit.freeze or "
                     "optimize_for_inference, which turn them into constants");
  load_initial_weights(*this, options.initial);
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

at::Tensor ScriptModule::loss(const std::vector<at::Tensor>& inputs, const at::Tensor& target) {
  if (options.loss != kScriptLoss) {
    const at::Tensor output = forward(inputs);
    return loss_by_name(options.loss == "auto" ? loss_for(output, target) : options.loss, output, target);
  }
  std::vector<c10::IValue> arguments(inputs.begin(), inputs.end());
  arguments.emplace_back(target);
  const c10::IValue loss = call("loss", std::move(arguments));
  if (!loss.isTensor()) throw UsageError(options.file, ": its loss returns a ", loss.tagKind(), ", not a tensor");
  return loss.toTensor();
}

std::vector<at::Tensor> ScriptModule::inputs_of(const Batch& batch) {
  std::vector<std::string> used = options.inputs;
  for (size_t i = 0; options.inputs.empty() && i < parameter_names_.size(); ++i) {
    const std::string& name = parameter_names_[i];
    const bool has_it = name != "target" && batch.contains(name);
    if (!has_it && i > 0 && i >= required_inputs_) break;
    if (!has_it && i > 0)
      throw UsageError("model.inputs: forward of ", options.file, " takes ", joined_names(parameter_names_),
                       "; the batch has no '", name, "', it has ", joined_names(batch.names()),
                       "; name its entries in forward's order with --model.inputs");
    used.push_back(has_it ? name : "input");
  }
  if (options.inputs.empty()) warn_of_unused(batch, used);
  std::vector<at::Tensor> inputs;
  for (const std::string& name : used) inputs.push_back(batch[name]);
  return inputs;
}

/// Warns once about batch entries that the script never receives.
void ScriptModule::warn_of_unused(const Batch& batch, const std::vector<std::string>& used) {
  if (std::exchange(looked_for_unused_, true)) return;
  for (const std::string& name : batch.names())
    if (name != "target" && std::ranges::count(used, name) == 0)
      console::warn("the batch has '" + name + "', which forward of " + options.file + " (" +
                    joined_names(parameter_names_) +
                    ") does not get; give it a parameter of this name, or name its "
                    "inputs with --model.inputs");
}

void ScriptModule::save_script(const std::filesystem::path& path) {
  tensors_.push();
  levin::save_script(script_, path);
}

StepOutput ScriptModule::training_step(const Batch& batch, int64_t /*batch_idx*/) {
  const at::Tensor value = loss(inputs_of(batch), batch.target());
  log("train_loss", value, {.prog_bar = true});
  return value;
}

void ScriptModule::validation_step(const Batch& batch, int64_t /*batch_idx*/, int64_t /*dataloader_idx*/) {
  evaluate(batch, "val");
}

void ScriptModule::test_step(const Batch& batch, int64_t /*batch_idx*/, int64_t /*dataloader_idx*/) {
  evaluate(batch, "test");
}

void ScriptModule::evaluate(const Batch& batch, const std::string& stage) {
  if (options.loss == kScriptLoss) {
    log(stage + "_loss", loss(inputs_of(batch), batch.target()), {.prog_bar = true});
    return;
  }
  const at::Tensor output = forward(inputs_of(batch));
  const std::string name = options.loss == "auto" ? loss_for(output, batch.target()) : options.loss;
  const bool has_classes = compares_classes(name) && !batch.target().is_floating_point();
  log(stage + "_loss", loss_by_name(name, output, batch.target()), {.prog_bar = !has_classes});
  if (has_classes) log(stage + "_acc", output.argmax(1).eq(batch.target()).to(at::kFloat).mean(), {.prog_bar = true});
}

Batch ScriptModule::predict_step(const Batch& batch, int64_t /*batch_idx*/, int64_t /*dataloader_idx*/) {
  return Batch(forward(inputs_of(batch)));
}

OptimizerConfig ScriptModule::configure_optimizers() {
  // Python counts a parameter that is registered twice once.
  std::vector<at::Tensor> unique;
  std::unordered_set<const at::TensorImpl*> known;
  for (const at::Tensor& parameter : parameters())
    if (known.insert(parameter.unsafeGetTensorImpl()).second) unique.push_back(parameter);
  return configured_optimizer(options.optimizer, options.lr_scheduler, std::move(unique));
}

void ScriptModule::on_fit_end(Run& run) {
  if (options.save_to.empty() || run.comm().rank() != 0) return;
  on_validation_model_eval();
  save_script(options.save_to);
  restore_training_modes();
}

}  // namespace levin
