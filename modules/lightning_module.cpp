#include <levin/modules/lightning_module.h>
#include <ATen/ops/stack.h>
#include <c10/util/Type.h>
#include <levin/core/device/first_calls.h>
#include <levin/core/run/run.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/modules/metrics/metric_collection.h>
#include <levin/modules/parallel/ranks/all_gather.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <typeinfo>
#include <unordered_set>
#include <utility>

namespace levin {
namespace {

[[noreturn]] void must_override(const char* signature, const char* when) {
  throw UsageError("the module does not override ", signature, ", which ", when, " needs");
}

}  // namespace

LightningModule::LightningModule() { make_first_calls(); }
LightningModule::LightningModule(std::string name) : Module(std::move(name)) { make_first_calls(); }

StepOutput LightningModule::training_step(const Batch&, int64_t) {
  must_override("training_step(batch, batch_idx)", "fit");
}

void LightningModule::validation_step(const Batch&, int64_t) {
  must_override("validation_step(batch, batch_idx)", "validation");
}
void LightningModule::test_step(const Batch&, int64_t) { must_override("test_step(batch, batch_idx)", "test"); }
Batch LightningModule::predict_step(const Batch&, int64_t) {
  must_override("predict_step(batch, batch_idx)", "predict");
}

OptimizerConfig LightningModule::configure_optimizers() {
  must_override("configure_optimizers()", "fit (return {} to train without an optimizer)");
}

void LightningModule::optimizer_step(LightningOptimizer& optimizer, const Closure& closure) { optimizer.step(closure); }
void LightningModule::backward(const at::Tensor& loss) { loss.backward(); }
void LightningModule::optimizer_zero_grad(LightningOptimizer& optimizer) { optimizer.zero_grad(); }
void LightningModule::configure_gradient_clipping(LightningOptimizer& optimizer,
                                                  std::optional<double> gradient_clip_val,
                                                  GradientClipAlgorithm algorithm) {
  if (gradient_clip_val) optimizer.clip_gradients(*gradient_clip_val, algorithm);
}
void LightningModule::lr_scheduler_step(LRScheduler& scheduler, std::optional<double> metric) {
  metric ? scheduler.step(*metric) : scheduler.step();
}

Batch LightningModule::on_before_batch_transfer(Batch batch, int64_t) { return batch; }
Batch LightningModule::transfer_batch_to_device(Batch batch, c10::Device device, int64_t) {
  return batch.to(device, /*non_blocking=*/true);
}
Batch LightningModule::on_after_batch_transfer(Batch batch, int64_t) { return batch; }

void LightningModule::on_validation_model_zero_grad() { zero_grad(); }

void LightningModule::on_validation_model_eval() {
  training_modes_.assign(1, {this, is_training()});
  for (const auto& module : modules(/*include_self=*/false))
    training_modes_.emplace_back(module.get(), module->is_training());
  eval();
}

void LightningModule::on_validation_model_train() { restore_training_modes(); }

void LightningModule::restore_training_modes() {
  // Parents come before their children, since train(bool) sets the whole subtree.
  for (auto& [module, training] : training_modes_) module->train(training);
  training_modes_.clear();
}

void LightningModule::log(const std::string& name, const at::Tensor& value, LogOptions options) {
  context("log").sink->log(name, value, options);
}
void LightningModule::log(const std::string& name, double value, LogOptions options) {
  context("log").sink->log(name, value, options);
}
void LightningModule::log_dict(const std::vector<std::pair<std::string, at::Tensor>>& values, LogOptions options) {
  for (const auto& [name, value] : values) log(name, value, options);
}
void LightningModule::log_dict(const std::vector<std::pair<std::string, double>>& values, LogOptions options) {
  for (const auto& [name, value] : values) log(name, value, options);
}
void LightningModule::log(const std::string& name, LoggedMetric& metric, LogOptions options) {
  log(name, std::shared_ptr<LoggedMetric>(std::shared_ptr<void>(), &metric), options);
}
void LightningModule::log(const std::string& name, const std::shared_ptr<LoggedMetric>& metric, LogOptions options) {
  context("log").sink->log(name, metric, options);
}
void LightningModule::log_dict(const metrics::MetricCollection& metrics, LogOptions options) {
  for (const metrics::NamedMetric& named : metrics.metrics()) log(metrics.full_name(named.name), named.metric, options);
}

void LightningModule::register_metric(const std::string& name, LoggedMetric& metric) {
  for (const auto& [known, other] : metrics_)
    if (known == name) throw UsageError("register_metric: the name ", name, " is taken");
  metrics_.emplace_back(name, &metric);
}

void LightningModule::register_metric(const metrics::MetricCollection& metrics) {
  for (const metrics::NamedMetric& one : metrics.metrics()) register_metric(metrics.full_name(one.name), *one.metric);
}

std::vector<LightningOptimizer> LightningModule::optimizers() {
  std::vector<LightningOptimizer> handles;
  OptimizerDriver* driver = context("optimizers").optimizers;
  if (driver == nullptr) throw UsageError("optimizers() exist only during fit");
  for (size_t i = 0; i < driver->size(); ++i) handles.emplace_back(*driver, i);
  return handles;
}

LightningOptimizer LightningModule::optimizer(size_t index) {
  OptimizerDriver* driver = context("optimizer").optimizers;
  if (driver == nullptr) throw UsageError("optimizer(", index, ") exists only during fit");
  if (index >= driver->size())
    throw UsageError("optimizer(", index, "): configure_optimizers returned ", driver->size());
  return {*driver, index};
}

void LightningModule::manual_backward(const at::Tensor& loss) {
  OptimizerDriver* driver = context("manual_backward").optimizers;
  if (driver == nullptr) throw UsageError("manual_backward works only during fit");
  if (automatic_optimization)
    throw UsageError("manual_backward: set automatic_optimization = false in the module's constructor first");
  driver->backward(loss);
}

const std::vector<std::shared_ptr<LRScheduler>>& LightningModule::lr_schedulers() const {
  return context("lr_schedulers").run->lr_schedulers();
}

void LightningModule::toggle_optimizer(const LightningOptimizer& optimizer) {
  if (!toggled_.empty()) throw UsageError("toggle_optimizer: call untoggle_optimizer() for the last one first");
  std::unordered_set<const void*> kept;
  std::vector<LightningOptimizer> handles = optimizers();
  for (LightningOptimizer& handle : handles)
    for (const auto& group : handle.raw().param_groups())
      for (const at::Tensor& parameter : group.params()) {
        if (handle.index() == optimizer.index()) kept.insert(parameter.unsafeGetTensorImpl());
        toggled_.emplace_back(parameter, parameter.requires_grad());
      }
  for (auto& [parameter, required] : toggled_)
    parameter.requires_grad_(required && kept.count(parameter.unsafeGetTensorImpl()) > 0);
}

void LightningModule::untoggle_optimizer() {
  for (auto& [parameter, required] : toggled_) parameter.requires_grad_(required);
  toggled_.clear();
}

void LightningModule::freeze() {
  for (const at::Tensor& parameter : parameters()) parameter.requires_grad_(false);
  eval();
}

void LightningModule::unfreeze() {
  for (const at::Tensor& parameter : parameters()) parameter.requires_grad_(true);
  train();
}

void LightningModule::set_hyperparameters(const Schema& schema, const void* options) {
  hyperparameters_ = schema.get(options).dump();
}

void LightningModule::print(const std::string& text) const {
  if (is_global_zero()) console::info(text);
}

Comm& LightningModule::comm() const {
  static SingleProcessComm alone;
  return in_run_.context == nullptr ? alone : in_run_.context->run->comm();
}

at::Tensor LightningModule::all_gather(const at::Tensor& tensor, bool sync_grads) {
  return sync_grads ? parallel::all_gather_with_gradients(tensor, comm())
                    : at::stack(comm().all_gather(tensor.detach()));
}

at::Tensor LightningModule::all_reduce(const at::Tensor& tensor, ReduceOp op) {
  at::Tensor reduced = tensor.detach().clone();
  comm().all_reduce(reduced, op);
  return reduced;
}

at::Tensor LightningModule::broadcast(const at::Tensor& tensor, int64_t source) {
  at::Tensor sent = tensor.detach().clone();
  comm().broadcast(sent, source);
  return sent;
}

void LightningModule::barrier() { comm().barrier(); }

std::shared_ptr<ProcessGroup> LightningModule::tensor_group() const {
  return in_run_.context != nullptr ? in_run_.context->tensor_group : nullptr;
}

int64_t LightningModule::global_rank() const { return comm().rank(); }
int64_t LightningModule::world_size() const { return comm().world_size(); }

Run& LightningModule::run() const { return *context("run").run; }

c10::Device LightningModule::device() const {
  if (in_run_.context != nullptr) return in_run_.context->device;
  for (const at::Tensor& parameter : parameters()) return parameter.device();
  return c10::kCPU;
}

int64_t LightningModule::current_epoch() const { return context("current_epoch").run->state().epoch; }
int64_t LightningModule::global_step() const { return context("global_step").run->state().global_step; }

int64_t LightningModule::dataloader_idx() const { return in_run() ? context("dataloader_idx").dataloader_idx : 0; }

std::optional<int64_t> LightningModule::estimated_stepping_batches() const {
  return context("estimated_stepping_batches").run->estimated_stepping_batches();
}

void ModuleAccess::set_context(LightningModule& module, StepContext* context) {
  module.in_run_.context = context;
  if (context == nullptr) module.untoggle_optimizer();
}

void ModuleAccess::enter_run(LightningModule& module, StepContext& context) {
  static std::mutex entering;  // of all modules: two threads may begin a run at once
  const std::lock_guard lock(entering);
  if (const StepContext* other = module.in_run_.context)
    throw UsageError("the module (", c10::demangle(typeid(module).name()), ") is in another run, a ",
                     to_string(other->stage),
                     " that has not ended, and a module takes part in one run at a time; let that run end first (a "
                     "session: by finish()), or make a second module");
  set_context(module, &context);
}

std::weak_ptr<const void> ModuleAccess::lifetime(const LightningModule& module) { return module.in_run_.lifetime(); }

void ModuleAccess::configure_model_once(LightningModule& module) {
  if (module.model_is_configured_) return;
  module.configure_model();
  module.model_is_configured_ = true;
}

const ModuleAccess::Factory& ModuleAccess::factory(const LightningModule& module) { return module.factory_; }

const std::optional<ModuleOverrides>& ModuleAccess::known_overrides(const LightningModule& module) {
  return module.known_overrides_;
}

void ModuleAccess::remember(LightningModule& module, Factory factory, ModuleOverrides overrides) {
  module.factory_ = std::move(factory);
  module.known_overrides_ = overrides;
}

const std::vector<std::pair<torch::nn::Module*, bool>>& ModuleAccess::training_modes(const LightningModule& module) {
  return module.training_modes_;
}

StepContext& LightningModule::context(const char* asked) const {
  if (in_run_.context == nullptr)
    throw UsageError(asked, " was called outside a run: call it from a step or a hook that the trainer calls");
  return *in_run_.context;
}

LightningModule* ModuleRef::checked(LightningModule* module) {
  if (module == nullptr) throw UsageError("a module was expected, this is a null pointer");
  return module;
}

}  // namespace levin
