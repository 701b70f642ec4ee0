#include <levin/trainer/fit/run_callbacks.h>
#include <c10/util/Type.h>
#include <levin/callbacks/callbacks_of.h>
#include <levin/callbacks/ema_weight_averaging.h>
#include <levin/callbacks/model_checkpoint.h>
#include <levin/callbacks/model_pruning.h>
#include <levin/callbacks/model_summary.h>
#include <levin/callbacks/on_exception_checkpoint.h>
#include <levin/callbacks/progress_bar.h>
#include <levin/callbacks/stochastic_weight_averaging.h>
#include <levin/core/system/error.h>

#include <typeinfo>

namespace levin {
namespace {

/// Monitoring callbacks get this hook after the module, which may log in it.
constexpr Hook kHookOfMonitors = Hook::on_train_epoch_end;

template <class C>
bool is(const CallbackEntry& entry) {
  return dynamic_cast<const C*>(entry.callback.get()) != nullptr;
}

/// Returns whether a callback saves checkpoints; such callbacks are dropped without enable_checkpointing.
bool saves_checkpoints(const CallbackEntry& entry) {
  return is<ModelCheckpoint>(entry) || is<OnExceptionCheckpoint>(entry);
}

/// Throws for callbacks whose copies of parameters would be those of one tensor-parallel rank, also in checkpoints.
void refuse_copies_of_parts(const std::vector<CallbackEntry>& callbacks) {
  for (const CallbackEntry& entry : callbacks)
    if (is<EMAWeightAveraging>(entry) || is<StochasticWeightAveraging>(entry) || is<ModelPruning>(entry))
      throw UsageError(
          "trainer.mesh.tensor: ", entry.callback->state_key(),
          " looks at whole parameters, of which each tensor-parallel rank has a part; leave it out, or set "
          "mesh.tensor to 1");
}

}  // namespace

std::string class_name_of(const LightningModule& module) {
  return detail::unqualified(c10::demangle(typeid(module).name()));
}

std::string class_name_of(const data::DataModule& data) {
  return detail::unqualified(c10::demangle(typeid(data).name()));
}

void RunCallbacks::add_all() {
  const ResolvedOptions& options = parts_.options;
  if (parts_.stage == Stage::Fit) parts_.hooks.add(*schedule_free_.callback, schedule_free_.hooks);
  for (const CallbackEntry& entry : options->callbacks)
    if (options.saves_checkpoints() || !saves_checkpoints(entry)) add(entry);
  if (options.shows_progress_bar() && !has<ProgressBar>()) add(ProgressBar());
  if (options.prints_model_summary() && !has<ModelSummary>()) add(ModelSummary());
  const auto of_module = [&] { return module_.configure_callbacks(); };
  if (!parts_.trial)
    for (const CallbackEntry& entry : measured(parts_.profiler, Action::ConfigureCallbacks, of_module)) add(entry);
  if (options->mesh.tensor > 1) refuse_copies_of_parts(parts_.callbacks);
  if (parts_.stage == Stage::Fit && options.saves_checkpoints() && !has<ModelCheckpoint>())
    add(ModelCheckpoint({.save_last = true}));
  parts_.hooks.add(profiled(module_, "[LightningModule]", class_name_of(module_)), parts_.module.overrides.hooks);
  for (const CallbackEntry& entry : parts_.callbacks)
    if (entry.callback->is_monitoring()) parts_.hooks.add(profiled(entry), entry.hooks.only(kHookOfMonitors));
}

Hooks& RunCallbacks::profiled(Hooks& hooks, const char* kind, const std::string& name) {
  return parts_.profiler != nullptr ? profiled_hooks_.emplace_back(hooks, *parts_.profiler, kind + name) : hooks;
}

Hooks& RunCallbacks::profiled(const CallbackEntry& entry) {
  return profiled(*entry.callback, "[Callback]",
                  parts_.profiler != nullptr ? entry.callback->state_key() : std::string());
}

void RunCallbacks::add(const CallbackEntry& entry) {
  if (!entry.callback) throw UsageError("a null pointer was given in place of a callback");
  parts_.callbacks.push_back(entry);
  parts_.hooks.add(profiled(entry),
                   entry.callback->is_monitoring() ? entry.hooks.without(kHookOfMonitors) : entry.hooks);
}

template <class C>
bool RunCallbacks::has() const {
  return !callbacks_of<const C>(parts_.callbacks).empty();
}

}  // namespace levin
