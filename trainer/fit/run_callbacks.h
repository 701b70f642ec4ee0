#pragma once
#include <levin/core/run/callback_entry.h>
#include <levin/trainer/fit/schedule_free_weights.h>
#include <levin/trainer/profilers/profiled_hooks.h>
#include <levin/trainer/run/run_parts.h>

#include <deque>
#include <string>

namespace levin {

/// Puts the callbacks of a run and its module into the parts, in the order in which their hooks are called: callbacks
/// of the options, those that other options stand for (progress bar, summary, the newest checkpoint), those of the
/// module, and the module itself. If a profiler is on, it measures the hooks.
class RunCallbacks {
 public:
  /// `parts` and `module` must outlive the object, which must outlive the run.
  RunCallbacks(RunParts& parts, LightningModule& module) : parts_(parts), module_(module) {}

  /// Throws UsageError for a null pointer in place of a callback, and for callbacks that the run cannot have.
  void add_all();

 private:
  void add(const CallbackEntry& entry);
  template <class C>
  bool has() const;
  /// Wraps the hooks for profiling, if a profiler is on.
  Hooks& profiled(Hooks& hooks, const char* kind, const std::string& name);
  Hooks& profiled(const CallbackEntry& entry);

  RunParts& parts_;
  LightningModule& module_;
  std::deque<ProfiledHooks> profiled_hooks_ = {};
  CallbackEntry schedule_free_ = ScheduleFreeWeights();
};

/// Returns the name of an object's class without its namespaces.
std::string class_name_of(const LightningModule& module);
std::string class_name_of(const data::DataModule& data);

}  // namespace levin
