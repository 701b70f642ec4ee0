#include <levin/modules/script_module.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/l1_loss.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/nll_loss_nd.h>
#include <ATen/ops/smooth_l1_loss.h>
#include <levin/modules/script_file.h>
#include <levin/trainer/core/error.h>
#include <levin/trainer/core/run.h>

#include <unordered_set>
#include <utility>

namespace levin {
namespace {

constexpr const char* kScriptLoss = "script";

torch::jit::Module load_script_of(const ScriptModuleOptions& options) {
  schema_of<ScriptModuleOptions>().check(&options, "model");
  if (options.file.empty()) throw UsageError("model.file: missing; name a TorchScript file with --model.file");
  return load_script(options.file);
}

/// What "auto" stands for. Throws UsageError where the script lacks the method that is asked for.
std::string chosen_loss(const ScriptModuleOptions& options, const torch::jit::Module& script) {
  const bool has_loss = script.find_method("loss").has_value();
  if (options.loss == kScriptLoss && !has_loss)
    throw UsageError("model.loss: ", options.file,
                     " has no method loss(input, target) (mark it with "
                     "@torch.jit.export in Python); choose a loss by name, cross_entropy or mse_loss say");
  if (options.loss != "auto") return options.loss;
  return has_loss ? kScriptLoss : "cross_entropy";
}

bool compares_classes(const std::string& loss) { return loss == "cross_entropy" || loss == "nll_loss"; }

at::Tensor loss_by_name(const std::string& name, const at::Tensor& output, const at::Tensor& target) {
  if (name == "cross_entropy") return at::cross_entropy_loss(output, target);
  if (name == "nll_loss") return at::nll_loss_nd(output, target);
  // These would stretch one to the shape of the other, which is hardly ever meant.
  if (output.sizes() != target.sizes())
    throw UsageError("model.loss: ", name, " compares tensors of one shape; the model makes ", output.sizes(),
                     ", the target is ", target.sizes());
  if (name == "mse_loss") return at::mse_loss(output, target);
  if (name == "l1_loss") return at::l1_loss(output, target);
  if (name == "smooth_l1_loss") return at::smooth_l1_loss(output, target);
  return at::binary_cross_entropy_with_logits(output, target);
}

}  // namespace

const std::vector<std::string>& script_losses() {
  static const std::vector<std::string> names = {
      "auto",     kScriptLoss, "cross_entropy",  "nll_loss",
      "mse_loss", "l1_loss",   "smooth_l1_loss", "binary_cross_entropy_with_logits"};
  return names;
}

ScriptModule::ScriptModule(Options options_)
    : LightningModule("ScriptModule"), options(std::move(options_)), script_(load_script_of(options)) {
  save_hyperparameters(options);
  options.loss = chosen_loss(options, script_);
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

at::Tensor ScriptModule::forward(const at::Tensor& input) {
  const c10::IValue output = call("forward", {input});
  if (!output.isTensor())
    throw UsageError(options.file, ": its forward returns a ", output.tagKind(),
                     ", a tensor was expected; give the script a method loss(input, target) (@torch.jit.export)");
  return output.toTensor();
}

at::Tensor ScriptModule::loss(const at::Tensor& input, const at::Tensor& target) {
  if (options.loss != kScriptLoss) return loss_by_name(options.loss, forward(input), target);
  const c10::IValue loss = call("loss", {input, target});
  if (!loss.isTensor()) throw UsageError(options.file, ": its loss returns a ", loss.tagKind(), ", not a tensor");
  return loss.toTensor();
}

void ScriptModule::save_script(const std::filesystem::path& path) {
  tensors_.push();
  levin::save_script(script_, path);
}

StepOutput ScriptModule::training_step(const Batch& batch, int64_t /*batch_idx*/) {
  const at::Tensor value = loss(batch.input(), batch.target());
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
    log(stage + "_loss", loss(batch.input(), batch.target()), {.prog_bar = true});
    return;
  }
  const at::Tensor output = forward(batch.input());
  const bool has_classes = compares_classes(options.loss) && output.dim() > 1 && !batch.target().is_floating_point();
  log(stage + "_loss", loss_by_name(options.loss, output, batch.target()), {.prog_bar = !has_classes});
  if (has_classes) log(stage + "_acc", output.argmax(1).eq(batch.target()).to(at::kFloat).mean(), {.prog_bar = true});
}

Batch ScriptModule::predict_step(const Batch& batch, int64_t /*batch_idx*/, int64_t /*dataloader_idx*/) {
  return Batch(forward(batch.input()));
}

OptimizerConfig ScriptModule::configure_optimizers() {
  // Python counts a parameter that stands in two places once.
  std::vector<at::Tensor> unique;
  std::unordered_set<const at::TensorImpl*> known;
  for (const at::Tensor& parameter : parameters())
    if (known.insert(parameter.unsafeGetTensorImpl()).second) unique.push_back(parameter);
  auto optimizer = optim::make_optimizer(options.optimizer, "model.optimizer", std::move(unique));
  if (!options.lr_scheduler) return optimizer;
  return {std::move(optimizer), options.lr_scheduler.make("model.lr_scheduler")};
}

void ScriptModule::on_fit_end(Run& run) {
  if (!options.save_to.empty() && run.comm().rank() == 0) save_script(options.save_to);
}

}  // namespace levin
