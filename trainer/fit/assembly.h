#pragma once
#include <levin/core/ranks/process_group.h>
#include <levin/core/system/warnings.h>
#include <levin/trainer/fit/configure_optimizers.h>
#include <levin/trainer/fit/process_settings.h>
#include <levin/trainer/fit/run_callbacks.h>
#include <levin/trainer/options/placement.h>
#include <levin/trainer/precision/make_precision.h>
#include <levin/trainer/run/run_context.h>
#include <levin/trainer/run/run_parts.h>
#include <levin/trainer/run/run_scope.h>
#include <levin/trainer/strategies/strategy.h>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace levin {

struct FoundCheckpoint;
struct ReadCheckpoint;

/// Makes and owns the parts of one call of fit, validate, test or predict. They are destroyed in reverse order.
class Assembly {
 public:
  /// `options`, `placement` and `ranks` must outlive the assembly; `ranks` is null without ddp or zero1. Sets
  /// process-wide state, as far as the options allow it: seed, threads, LibTorch's switches, the heap. In a trial the
  /// module's configure_callbacks() is not called.
  Assembly(const ResolvedOptions& options, const Placement& placement, ProcessGroup* ranks, ModuleRef module,
           const std::optional<data::DataModuleRef>& data_module, Stage stage, bool trial = false);

  /// Runs prepare_data, the setup hooks and configure_model, and places the module on its device. Before `setup` the
  /// data module gets what `checkpoint`, if it is not null, has learned of its data.
  void setup(const ReadCheckpoint* checkpoint = nullptr);
  /// The part of `setup` that concerns the module alone.
  void setup_module();
  /// Gives the module the run's precision, device and memory format. Called again if a hook has changed its parameters.
  void place();
  /// `found`: the result of levin::tune.
  void configure_optimizers(const FoundRate& found = {});
  /// Returns `given`, the config to write to files, completed by the trainer's options and the module's hyperparameters
  /// if it is empty.
  RunConfig config_of_run(RunConfig given) const;
  /// Opens the run's folder, writes config.json and makes the loggers. A fit that continues a run uses the folder of
  /// `found`; null otherwise. `start`: the identity by which a restart finds the folder. Without loggers and
  /// checkpoints a run has no folder. Collective: all ranks call it.
  void open_run_folder(FoundCheckpoint* found, const std::string& start);
  /// Starts the profiler, if there is one, once the run's folder and the module's parameters are there. `step`: the
  /// action that begins a step.
  void begin_profile(Action step);
  /// Returns the profiler's totals; empty without one.
  ProfileTotals profile() const;
  void teardown();
  /// Restores the process-wide state that the run changed. The state that a later checkpoint needs is kept.
  void end();
  /// Runs `body`. If it throws, calls on_exception and closes the loggers, then rethrows. The handling runs on this
  /// rank alone: logged values are this rank's own, and a collective throws.
  void guarded(const std::function<void()>& body);
  /// While the result lives, this thread works for the run. `guarded` makes one.
  RunScope scope() const {
    return {warnings_, process_->generator(), parts_.options.strategy().traits.shards_parameters};
  }
  /// Returns the warnings of the run until now.
  std::vector<std::string> warnings() const { return warnings_->messages(); }
  /// The CPU generator that the run draws from: its own, or LibTorch's default.
  at::Generator generator() const;

  RunContext& run() { return run_; }
  const Placement& placement() const { return placement_; }
  /// Null without ddp or zero1.
  ProcessGroup* ranks() const { return ranks_; }

 private:
  /// Runs the prepare_data hooks once on each machine; the other ranks wait.
  void prepare_data();
  void failed(const std::exception& error);

  LightningModule& module_;
  const Placement& placement_;
  ProcessGroup* ranks_;
  bool first_of_machine_;
  std::shared_ptr<console::WarningList> warnings_;
  std::optional<ProcessSettings> process_ = {};  ///< set once the strategy is known
  std::unique_ptr<Profiler> profiler_;           ///< null if it is off
  std::unique_ptr<Strategy> strategy_;
  std::unique_ptr<PrecisionPlugin> precision_;
  RunParts parts_;
  RunCallbacks callbacks_;
  RunContext run_;
  std::vector<optim::RowTracker> row_trackers_ = {};  ///< of LibTorch's optimizers
};

}  // namespace levin
