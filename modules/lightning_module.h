#pragma once
#include <levin/data/batch.h>
#include <levin/data/loader.h>
#include <levin/modules/lightning_optimizer.h>
#include <levin/modules/optimizer_config.h>
#include <levin/modules/overrides.h>
#include <levin/modules/step_output.h>
#include <levin/trainer/core/options/option.h>
#include <levin/trainer/core/ranks/comm.h>
#include <levin/trainer/core/run/callback_entry.h>
#include <levin/trainer/core/run/hooks.h>
#include <levin/trainer/core/run/log_sink.h>
#include <levin/trainer/core/run/module_access.h>
#include <levin/trainer/core/run/step_context.h>
#include <torch/nn/module.h>

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace levin {

class LoggedMetric;
namespace metrics {
class MetricCollection;
}

/// What LightningModule::log takes as a value.
template <class V>
concept Loggable = std::convertible_to<V, at::Tensor> || std::convertible_to<V, double> ||
                   std::convertible_to<V, LoggedMetric&> || std::convertible_to<V, std::shared_ptr<LoggedMetric>>;

/// A network with the knowledge of how it is trained: override training_step and configure_optimizers, and what else is
/// needed; hand it to Trainer. Names and meaning follow PyTorch Lightning's LightningModule.
///
/// It is a torch::nn::Module: register_module, register_parameter, state and devices work as there. The trainer keeps
/// no ownership: a module on the stack works.
class LightningModule : public torch::nn::Module, public Hooks {
 public:
  using torch::nn::Module::Module;

  // --- what the user overrides ---

  /// One training batch; returns its loss (see StepOutput). Under manual optimization it does everything itself.
  virtual StepOutput training_step(const Batch& batch, int64_t batch_idx);
  /// One validation batch, in eval mode and without gradients; logs what it measures.
  ///
  /// validation_step, test_step and predict_step have two forms: override the one with `dataloader_idx` if several
  /// loaders are to be told apart, and the other one if not. Overriding both forms of a step is an error.
  virtual void validation_step(const Batch& batch, int64_t batch_idx);
  virtual void validation_step(const Batch& batch, int64_t batch_idx, int64_t dataloader_idx);
  virtual void test_step(const Batch& batch, int64_t batch_idx);
  virtual void test_step(const Batch& batch, int64_t batch_idx, int64_t dataloader_idx);
  /// One prediction batch; Trainer::predict returns what it returns.
  virtual Batch predict_step(const Batch& batch, int64_t batch_idx);
  virtual Batch predict_step(const Batch& batch, int64_t batch_idx, int64_t dataloader_idx);
  /// The optimizers and their schedulers; the default throws levin::UsageError. `return {};` trains nothing.
  virtual OptimizerConfig configure_optimizers();
  /// Callbacks that this module brings, added after the trainer's.
  virtual std::vector<CallbackEntry> configure_callbacks() { return {}; }
  /// Called once for each module, in the first run that uses it, after setup and before the module is moved to its
  /// device: the place to build large parts. A replica under dp is a module of its own.
  virtual void configure_model() {}

  /// False: training_step calls manual_backward, optimizer(i).zero_grad() and optimizer(i).step() itself.
  bool automatic_optimization = true;

  // --- loaders, where neither a data module nor loaders are given to the trainer ---

  virtual void prepare_data() {}
  virtual data::Loaders train_dataloader() { return {}; }
  virtual data::Loaders val_dataloader() { return {}; }
  virtual data::Loaders test_dataloader() { return {}; }
  virtual data::Loaders predict_dataloader() { return {}; }

  /// A batch such as predict_step receives: with it the model summary shows the shapes of the layers' outputs.
  Batch example_input = {};

  // --- the parts of a step, for those who must change them ---

  /// Steps the optimizer; the closure computes loss and gradients and must be run, once or more.
  virtual void optimizer_step(LightningOptimizer& optimizer, const Closure& closure);
  /// Computes the gradients of `loss`, which is scaled already.
  virtual void backward(const at::Tensor& loss);
  virtual void optimizer_zero_grad(LightningOptimizer& optimizer);
  /// Clips as the trainer's gradient_clip_val asks (unset: not at all); `optimizer.clip_gradients` does the work.
  virtual void configure_gradient_clipping(LightningOptimizer& optimizer, std::optional<double> gradient_clip_val,
                                           GradientClipAlgorithm algorithm);
  /// Steps a scheduler; `metric` is set for schedulers that follow one.
  virtual void lr_scheduler_step(LRScheduler& scheduler, std::optional<double> metric);

  // --- the way of a batch to the device; a data module's overrides come before these ---

  virtual Batch on_before_batch_transfer(Batch batch, int64_t dataloader_idx);
  virtual Batch transfer_batch_to_device(Batch batch, c10::Device device, int64_t dataloader_idx);
  virtual Batch on_after_batch_transfer(Batch batch, int64_t dataloader_idx);

  // --- modes around evaluation ---

  /// Drops the gradients before a validation inside fit, to free their memory.
  virtual void on_validation_model_zero_grad();
  /// Puts the module into eval mode, and remembers which submodules were training.
  virtual void on_validation_model_eval();
  /// Puts each submodule back into the mode it had.
  virtual void on_validation_model_train();
  virtual void on_test_model_eval() { on_validation_model_eval(); }
  virtual void on_test_model_train() { on_validation_model_train(); }
  virtual void on_predict_model_eval() { on_validation_model_eval(); }
  /// Puts each submodule back into the mode that the last eval hook found.
  void restore_training_modes();

  // --- what steps and hooks may call ---

  /// Logs one value: `value` has one element, any dtype and device; it is detached and read only at log points.
  /// Throws levin::UsageError outside a run.
  void log(const std::string& name, const at::Tensor& value, LogOptions options = {});
  void log(const std::string& name, double value, LogOptions options = {});
  void log_dict(const std::vector<std::pair<std::string, at::Tensor>>& values, LogOptions options = {});
  void log_dict(const std::vector<std::pair<std::string, double>>& values, LogOptions options = {});
  /// Logs a metric (modules/metrics): its value over the whole epoch, all ranks included, after which it is reset. A
  /// reference must outlive the epoch, as a member of the module does. With on_step, `metric(preds, target)` must have
  /// counted the batch.
  void log(const std::string& name, LoggedMetric& metric, LogOptions options = {});
  void log(const std::string& name, const std::shared_ptr<LoggedMetric>& metric, LogOptions options = {});
  /// Not to be called: inside of a module this name is not the logarithm's.
  template <class V>
  V log(const V& value) const {
    static_assert(levin::detail::never<V>,
                  "levin: log(name, value) of a LightningModule logs a value; the logarithm is std::log or torch::log");
    return value;
  }
  /// Not to be called: what cannot be logged.
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
  /// Makes a member known as a metric of this module: what it has counted is in checkpoints from the first batch on,
  /// also where it is logged at the epoch's end alone, and replicas of the module count as one. Call it in the
  /// constructor; the reference must live as long as the module. Throws levin::UsageError for a name given twice.
  void register_metric(const std::string& name, LoggedMetric& metric);
  /// Registers each metric under its name with prefix and postfix.
  void register_metric(const metrics::MetricCollection& metrics);
  const std::vector<std::pair<std::string, LoggedMetric*>>& registered_metrics() const { return metrics_; }

  /// Handles of the optimizers, during fit.
  std::vector<LightningOptimizer> optimizers();
  LightningOptimizer optimizer(size_t index = 0);
  /// `loss.backward()` by way of precision and strategy.
  void manual_backward(const at::Tensor& loss);
  /// The bound schedulers, in the order of configure_optimizers; under manual optimization the module steps them.
  const std::vector<std::shared_ptr<LRScheduler>>& lr_schedulers() const;
  /// Lets only the parameters of this optimizer require gradients, until `untoggle_optimizer`; for GANs and the like.
  /// Parameters that require none of their own stay so.
  void toggle_optimizer(const LightningOptimizer& optimizer);
  /// Puts back what toggle_optimizer changed.
  void untoggle_optimizer();

  /// No parameter requires a gradient any more, and the module is in eval mode.
  void freeze();
  /// Every parameter requires a gradient, and the module is in train mode.
  void unfreeze();

  /// Keeps a struct of options, for loggers and checkpoints: call it in the constructor.
  template <class Options>
  void save_hyperparameters(const Options& options) {
    set_hyperparameters(schema_of<Options>(), &options);
  }
  /// What save_hyperparameters kept, as a JSON object; "{}" without.
  const std::string& hyperparameters() const { return hyperparameters_; }
  /// Prints a line above the progress bar, on rank 0 alone.
  void print(const std::string& text) const;

  // --- the ranks of the run; called by all of them in the same order. Outside a run this one is alone ---

  /// The tensors of all ranks, stacked: [ranks, ...]; shapes must agree. With `sync_grads` gradients flow back to the
  /// ranks that the rows are from.
  at::Tensor all_gather(const at::Tensor& tensor, bool sync_grads = false);
  /// The reduction over all ranks, in a new tensor; no gradient flows through it.
  at::Tensor all_reduce(const at::Tensor& tensor, ReduceOp op = ReduceOp::Mean);
  /// Rank `source`'s tensor, in a new one.
  at::Tensor broadcast(const at::Tensor& tensor, int64_t source = 0);
  /// Waits until all ranks are here.
  void barrier();
  int64_t global_rank() const;
  int64_t world_size() const;
  /// Whether this is the rank that writes and speaks for all.
  bool is_global_zero() const { return global_rank() == 0; }

  /// The run at hand; throws levin::UsageError outside one.
  Run& run() const;
  bool in_run() const { return context_ != nullptr; }
  /// The run's device; outside a run that of the first parameter.
  c10::Device device() const;
  int64_t current_epoch() const;
  int64_t global_step() const;
  /// Optimizer steps of the whole fit; unset where it has no known end. Can be asked in configure_optimizers.
  std::optional<int64_t> estimated_stepping_batches() const;

 private:
  friend class ModuleAccess;

  StepContext& context(const char* asked) const;
  Comm& comm() const;
  void set_hyperparameters(const Schema& schema, const void* options);
  bool is_asked_for(ModuleMethod step);
  void refuse_two_forms(ModuleMethod step, const Batch& batch, int64_t batch_idx);

  StepContext* context_ = nullptr;
  bool model_is_configured_ = false;
  uint64_t with_one_form_ = 0;              ///< steps of which one form at most is overridden: a bit per ModuleMethod
  std::optional<ModuleMethod> asked_ = {};  ///< the step whose default form without a loader resets this
  ModuleAccess::Factory factory_ = {};
  std::optional<ModuleOverrides> known_overrides_ = {};
  std::vector<std::pair<torch::nn::Module*, bool>> training_modes_ = {};
  std::vector<std::pair<at::Tensor, bool>> toggled_ = {};  ///< parameters, and whether they required gradients
  std::vector<std::pair<std::string, LoggedMetric*>> metrics_ = {};
  std::string hyperparameters_ = "{}";
};

/// What `M` overrides, found at compile time; a name that is private, overloaded or ambiguous counts as overridden. A
/// function that hides one of LightningModule's stops the compiler.
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
#define X(step, result)                                                                                             \
  {                                                                                                                 \
    using WithLoader = detail::Form<result, const Batch&, int64_t, int64_t>;                                        \
    using Plain = detail::Form<result, const Batch&, int64_t>;                                                      \
    constexpr bool sees_loader = requires { WithLoader::template overridden<LightningModule>(&M::step); };          \
    constexpr bool sees_plain = requires { Plain::template overridden<LightningModule>(&M::step); };                \
    bool overridden = !sees_loader && !sees_plain;                                                                  \
    if constexpr (sees_loader && sees_plain) {                                                                      \
      constexpr bool loader = decltype(WithLoader::template overridden<LightningModule>(&M::step))::value;          \
      constexpr bool plain = decltype(Plain::template overridden<LightningModule>(&M::step))::value;                \
      static_assert(!loader || !plain, "levin: a class overrides both forms of " #step                              \
                                       ", of which one would never be called; keep the one "                        \
                                       "with dataloader_idx, or the one without");                                  \
      overridden = loader || plain;                                                                                 \
    } else if constexpr (sees_loader) {                                                                             \
      overridden = decltype(WithLoader::template overridden<LightningModule>(&M::step))::value;                     \
    } else if constexpr (sees_plain) {                                                                              \
      overridden = decltype(Plain::template overridden<LightningModule>(&M::step))::value;                          \
    } else if constexpr (requires { &M::step; }) {                                                                  \
      static_assert(                                                                                                \
          !detail::hides<decltype(&M::step), void (LightningModule::*)()>(),                                        \
          "levin: a class has a function " #step                                                                    \
          " with other parameters, which hides those of LightningModule and would never be called; write: " #result \
          " " #step "(const Batch&, int64_t) override, or, to tell loaders apart: " #result " " #step               \
          "(const Batch&, int64_t, int64_t) override");                                                             \
    }                                                                                                               \
    overrides.methods |= uint64_t{overridden} << static_cast<int>(ModuleMethod::step);                              \
  }
  LEVIN_FOR_EACH_STEP_WITH_TWO_FORMS(X)
#undef X
  return overrides;
}

/// The same for an object; where its class is derived from `M`, what make_module remembered, or else everything.
template <std::derived_from<LightningModule> M>
ModuleOverrides overrides_of(const M& module) {
  const LightningModule& base = module;
  return typeid(base) == typeid(M) ? overridden_by<M>()
                                   : ModuleAccess::known_overrides(base).value_or(ModuleOverrides{});
}

/// A pointer to a module, of any kind: shared_ptr, unique_ptr, a plain one.
template <class P>
concept ModulePointer = requires(const P& pointer) {
  { *pointer } -> std::convertible_to<LightningModule&>;
};

/// A module and, found at compile time, what its class overrides. Made implicitly from any module or pointer to one;
/// what a shared_ptr holds lives as long as this.
struct ModuleRef {
  template <class M>
    requires std::derived_from<std::remove_cvref_t<M>, LightningModule>
  ModuleRef(M&& module_) : module(&module_), overrides(overrides_of(module_)) {
    static_assert(
        std::is_lvalue_reference_v<M>,
        "levin: a module that is a temporary would be gone after the call, with all that it has learnt; make it "
        "a variable, or hand over a shared_ptr");
  }
  template <ModulePointer P>
  ModuleRef(const P& pointer) : module(checked(pointer ? &*pointer : nullptr)), overrides(overrides_of(*pointer)) {
    if constexpr (std::convertible_to<const P&, std::shared_ptr<LightningModule>>) owner = pointer;
  }

  LightningModule* module;
  ModuleOverrides overrides;
  std::shared_ptr<LightningModule> owner = {};

 private:
  /// Throws levin::UsageError for null.
  static LightningModule* checked(LightningModule* module);
};

/// Makes a module that remembers how to make another one like it (replicas, resume checks).
template <std::derived_from<LightningModule> M, class... Args>
std::shared_ptr<M> make_module(Args... args) {
  auto module = std::make_shared<M>(args...);
  ModuleAccess::remember(
      *module, [args...]() -> std::shared_ptr<LightningModule> { return make_module<M>(args...); }, overridden_by<M>());
  return module;
}

}  // namespace levin
