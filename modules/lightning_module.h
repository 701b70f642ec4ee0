#pragma once
#include <levin/core/options/option.h>
#include <levin/core/ranks/comm.h>
#include <levin/core/run/callback_entry.h>
#include <levin/core/run/hooks.h>
#include <levin/core/run/log_sink.h>
#include <levin/core/run/module_access.h>
#include <levin/core/run/module_in_run.h>
#include <levin/core/run/step_context.h>
#include <levin/data/batch.h>
#include <levin/data/loader.h>
#include <levin/modules/lightning_optimizer.h>
#include <levin/modules/module_ref.h>
#include <levin/modules/optimizer_config.h>
#include <levin/modules/overrides.h>
#include <levin/modules/step_output.h>
#include <torch/nn/module.h>

#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace levin {

class LoggedMetric;
class ProcessGroup;
namespace metrics {
class MetricCollection;
}

/// A type that LightningModule::log accepts as a value.
template <class V>
concept Loggable = std::convertible_to<V, at::Tensor> || std::convertible_to<V, double> ||
                   std::convertible_to<V, LoggedMetric&> || std::convertible_to<V, std::shared_ptr<LoggedMetric>>;

/// A function of a batch, as predict_step is one.
using BatchFunction = std::function<Batch(const Batch&)>;

/// A network together with its training logic. Override training_step and configure_optimizers (and any hook you need)
/// and pass the module to Trainer. Names and semantics follow PyTorch Lightning's LightningModule.
///
/// It is a torch::nn::Module: register_module, register_parameter, state and devices work as usual. The trainer does
/// not take ownership: a module on the stack works.
class LightningModule : public torch::nn::Module, public Hooks {
 public:
  /// Both constructors make LibTorch's first calls of vector functions (core/device/first_calls.h), so that the parts
  /// made after them start with the same weights in each process.
  LightningModule();
  explicit LightningModule(std::string name);

  // --- what the user overrides ---

  /// Processes one training batch and returns its loss (see StepOutput). With manual optimization this function also
  /// runs backward and steps the optimizers.
  virtual StepOutput training_step(const Batch& batch, int64_t batch_idx);
  /// Processes one validation batch, in eval mode and without gradients, and logs metrics. `dataloader_idx()` tells
  /// several loaders apart.
  virtual void validation_step(const Batch& batch, int64_t batch_idx);
  virtual void test_step(const Batch& batch, int64_t batch_idx);
  /// Processes one prediction batch and returns its predictions, which Trainer::predict collects.
  virtual Batch predict_step(const Batch& batch, int64_t batch_idx);
  /// Returns the optimizers and their schedulers; the default throws levin::UsageError. `return {};` trains nothing.
  virtual OptimizerConfig configure_optimizers();
  /// Returns the module's callbacks, which are added after the trainer's.
  virtual std::vector<CallbackEntry> configure_callbacks() { return {}; }
  /// Called once per module, in the first run that uses the module, after setup and before the module is moved to its
  /// device: the place to build large parts. Each replica under dp is a separate module.
  virtual void configure_model() {}

  /// False: training_step calls manual_backward, optimizer(i).zero_grad() and optimizer(i).step() itself.
  bool automatic_optimization = true;

  // --- loaders, used if the trainer is given neither a data module nor loaders ---

  virtual void prepare_data() {}
  virtual data::Loaders train_dataloader() { return {}; }
  virtual data::Loaders val_dataloader() { return {}; }
  virtual data::Loaders test_dataloader() { return {}; }
  virtual data::Loaders predict_dataloader() { return {}; }

  /// A batch like those predict_step receives; if set, the model summary shows the output shapes of the layers.
  Batch example_input = {};

  /// Returns what can be exported besides predict_step, by name: `forward`, or the decoder of an autoencoder.
  virtual std::map<std::string, BatchFunction> export_functions() { return {}; }

  // --- the parts of a step, to customize them ---

  /// Steps the optimizer; the closure computes loss and gradients and must be called at least once.
  virtual void optimizer_step(LightningOptimizer& optimizer, const Closure& closure);
  /// Computes the gradients of `loss`, which is already scaled.
  virtual void backward(const at::Tensor& loss);
  virtual void optimizer_zero_grad(LightningOptimizer& optimizer);
  /// Clips gradients according to the trainer's gradient_clip_val (unset: no clipping) by `optimizer.clip_gradients`.
  virtual void configure_gradient_clipping(LightningOptimizer& optimizer, std::optional<double> gradient_clip_val,
                                           GradientClipAlgorithm algorithm);
  /// Steps a scheduler; `metric` is set for schedulers that follow one.
  virtual void lr_scheduler_step(LRScheduler& scheduler, std::optional<double> metric);

  // --- batch transfer to the device; a data module's overrides take precedence ---

  virtual Batch on_before_batch_transfer(Batch batch, int64_t dataloader_idx);
  virtual Batch transfer_batch_to_device(Batch batch, c10::Device device, int64_t dataloader_idx);
  virtual Batch on_after_batch_transfer(Batch batch, int64_t dataloader_idx);

  // --- modes around evaluation ---

  /// Drops the gradients before a validation inside fit, to free their memory.
  virtual void on_validation_model_zero_grad();
  /// Puts the module into eval mode and records which submodules were training.
  virtual void on_validation_model_eval();
  /// Restores the mode that each submodule had.
  virtual void on_validation_model_train();
  virtual void on_test_model_eval() { on_validation_model_eval(); }
  virtual void on_test_model_train() { on_validation_model_train(); }
  virtual void on_predict_model_eval() { on_validation_model_eval(); }
  /// Restores the mode that each submodule had at the last eval hook.
  void restore_training_modes();

  // --- what steps and hooks may call ---

  /// Logs one value: `value` has one element, any dtype and device; it is detached and read only at log points.
  /// Throws levin::UsageError outside a run.
  void log(const std::string& name, const at::Tensor& value, LogOptions options = {});
  void log(const std::string& name, double value, LogOptions options = {});
  void log_dict(const std::vector<std::pair<std::string, at::Tensor>>& values, LogOptions options = {});
  void log_dict(const std::vector<std::pair<std::string, double>>& values, LogOptions options = {});
  /// Logs a metric (modules/metrics): its value over the whole epoch and all ranks; the metric is then reset. A metric
  /// passed by reference must outlive the epoch, as a member of the module does. With on_step, the batch must have been
  /// counted by `metric(preds, target)`.
  void log(const std::string& name, LoggedMetric& metric, LogOptions options = {});
  void log(const std::string& name, const std::shared_ptr<LoggedMetric>& metric, LogOptions options = {});
  /// Not callable: inside a module `log` does not name the logarithm.
  template <class V>
  V log(const V& value) const {
    static_assert(levin::detail::never<V>,
                  "levin: log(name, value) of a LightningModule logs a value; the logarithm is std::log or torch::log");
    return value;
  }
  /// Not callable: rejects arguments that cannot be logged.
  template <class N, class V>
    requires(!std::convertible_to<const N&, std::string> || !Loggable<V>)
  void log(const N&, V&&, LogOptions = {}) {
    static_assert(std::convertible_to<const N&, std::string>, "levin: log takes the name first: log(\"loss\", value)");
    static_assert(Loggable<V>,
                  "levin: log takes a tensor with one element, a number, or a metric (LoggedMetric, by reference or "
                  "shared_ptr); several values and collections of metrics are logged by log_dict");
  }
  /// Logs each metric under its name with prefix and postfix.
  void log_dict(const metrics::MetricCollection& metrics, LogOptions options = {});
  /// Registers a member as a metric of this module: its state is in every checkpoint, even if it is logged only at the
  /// end of the epoch, and the counts of the module's replicas are combined. Call it in the constructor; the metric
  /// must live as long as the module. Throws levin::UsageError for a duplicate name.
  void register_metric(const std::string& name, LoggedMetric& metric);
  /// Registers each metric under its name with prefix and postfix.
  void register_metric(const metrics::MetricCollection& metrics);
  const std::vector<std::pair<std::string, LoggedMetric*>>& registered_metrics() const { return metrics_; }

  /// Returns handles of the optimizers; available during fit.
  std::vector<LightningOptimizer> optimizers();
  LightningOptimizer optimizer(size_t index = 0);
  /// Runs `loss.backward()` through the run's precision and strategy.
  void manual_backward(const at::Tensor& loss);
  /// Returns the bound schedulers, in the order of configure_optimizers; under manual optimization the module steps
  /// them.
  const std::vector<std::shared_ptr<LRScheduler>>& lr_schedulers() const;
  /// Until `untoggle_optimizer`, only the parameters of this optimizer require gradients, as for GANs. Frozen
  /// parameters stay frozen.
  void toggle_optimizer(const LightningOptimizer& optimizer);
  /// Reverts toggle_optimizer.
  void untoggle_optimizer();

  /// Sets requires_grad to false for all parameters and switches to eval mode.
  void freeze();
  /// Sets requires_grad to true for all parameters and switches to train mode.
  void unfreeze();

  /// Records a struct of options for loggers and checkpoints; call it in the constructor.
  template <class Options>
  void save_hyperparameters(const Options& options) {
    set_hyperparameters(schema_of<Options>(), &options);
  }
  /// Returns the options recorded by save_hyperparameters as a JSON object; "{}" if there are none.
  const std::string& hyperparameters() const { return hyperparameters_; }
  /// Prints a line above the progress bar, on rank 0 only.
  void print(const std::string& text) const;

  // --- collectives: all ranks of the run call them in the same order. Outside a run there is a single rank ---

  /// Returns the tensors of all ranks, stacked: [ranks, ...]; shapes must agree. With `sync_grads`, gradients flow back
  /// to the rank that each row came from.
  at::Tensor all_gather(const at::Tensor& tensor, bool sync_grads = false);
  /// Returns the reduction over all ranks in a new tensor; no gradient flows through it.
  at::Tensor all_reduce(const at::Tensor& tensor, ReduceOp op = ReduceOp::Mean);
  /// Returns a copy of rank `source`'s tensor.
  at::Tensor broadcast(const at::Tensor& tensor, int64_t source = 0);
  /// Waits until all ranks have called it.
  void barrier();
  /// Returns the ranks that hold parts of the module together (trainer.mesh.tensor), for layers that are made in
  /// configure_model; null if there are none, and outside a run.
  std::shared_ptr<ProcessGroup> tensor_group() const;
  int64_t global_rank() const;
  int64_t world_size() const;
  /// Returns whether this is rank 0, which writes files and prints.
  bool is_global_zero() const { return comm().is_global_zero(); }

  /// Returns the current run; throws levin::UsageError outside a run.
  Run& run() const;
  bool in_run() const { return in_run_.context != nullptr; }
  /// Returns the run's device; outside a run, the device of the first parameter.
  c10::Device device() const;
  int64_t current_epoch() const;
  /// Returns the number of the loader of the current batch, counted from 0, in an evaluation with several loaders; 0
  /// elsewhere, and outside a run.
  int64_t dataloader_idx() const;
  int64_t global_step() const;
  /// Returns the number of optimizer steps of the whole fit, also with fast_dev_run; unset if the length is unknown.
  /// Can be called in configure_optimizers.
  std::optional<int64_t> estimated_stepping_batches() const;

 private:
  friend class ModuleAccess;

  StepContext& context(const char* asked) const;
  Comm& comm() const;
  void set_hyperparameters(const Schema& schema, const void* options);

  ModuleInRun in_run_ = {};
  bool model_is_configured_ = false;
  ModuleAccess::Factory factory_ = {};
  std::optional<ModuleOverrides> known_overrides_ = {};
  std::vector<std::pair<torch::nn::Module*, bool>> training_modes_ = {};
  std::vector<std::pair<at::Tensor, bool>> toggled_ = {};  ///< parameters, and whether they required gradients
  std::vector<std::pair<std::string, LoggedMetric*>> metrics_ = {};
  std::string hyperparameters_ = "{}";
};

/// Returns what `M` overrides, found at compile time; a name that is private, overloaded or ambiguous counts as
/// overridden. A function that hides one of LightningModule's is a compile error.
template <std::derived_from<LightningModule> M>
constexpr ModuleOverrides overridden_by() {
  ModuleOverrides overrides{overridden_hooks<M>(), 0};
#define X(method, signature) LEVIN_REFUSE_HIDING(M, LightningModule, method, signature)
  LEVIN_FOR_EACH_MODULE_SIGNATURE(X)
#undef X
#define X(method)                                                                                          \
  if constexpr (requires { &M::method; }) {                                                                \
    constexpr bool overridden = !std::is_same_v<decltype(&M::method), decltype(&LightningModule::method)>; \
    overrides.methods |= uint64_t{overridden} << static_cast<int>(ModuleMethod::method);                   \
  } else {                                                                                                 \
    overrides.methods |= uint64_t{1} << static_cast<int>(ModuleMethod::method);                            \
  }
  LEVIN_FOR_EACH_MODULE_METHOD(X)
#undef X
  return overrides;
}

/// Returns the same for an object; if its class is derived from `M`, the overrides recorded by make_module, or else
/// everything.
template <std::derived_from<LightningModule> M>
ModuleOverrides overrides_of(const M& module) {
  const LightningModule& base = module;
  return typeid(base) == typeid(M) ? overridden_by<M>()
                                   : ModuleAccess::known_overrides(base).value_or(ModuleOverrides{});
}

/// Makes a module that records how to make another one like it (for replicas and resume checks).
template <std::derived_from<LightningModule> M, class... Args>
std::shared_ptr<M> make_module(Args... args) {
  auto module = std::make_shared<M>(args...);
  ModuleAccess::remember(
      *module, [args...]() -> std::shared_ptr<LightningModule> { return make_module<M>(args...); }, overridden_by<M>());
  return module;
}

}  // namespace levin
