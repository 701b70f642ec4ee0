#pragma once
#include <levin/modules/parallel/gradient_reducer.h>
#include <levin/trainer/core/heap.h>
#include <levin/trainer/core/process_group.h>
#include <levin/trainer/core/rng_guard.h>
#include <levin/trainer/core/runs_in_progress.h>
#include <levin/trainer/core/torch_settings.h>
#include <levin/trainer/loops/run_context.h>
#include <levin/trainer/placement.h>
#include <levin/trainer/precision/make_precision.h>
#include <levin/trainer/strategies/strategy.h>

#include <exception>
#include <functional>
#include <memory>
#include <optional>

namespace levin {

/// The learning rate that levin::tune has found, or the factor by which the module's own changes.
struct FoundRate {
  std::optional<double> lr = {};
  double factor = 1;
};

/// All parts of one call of fit, validate, test or predict, put together; destroyed in the reverse order.
class Assembly {
 public:
  /// `options`, and `ranks` of ddp, which are null without, must outlive the assembly. A trial has the callbacks of the
  /// options alone. Sets what the process has of its own: seed, threads, LibTorch's switches.
  Assembly(const TrainerOptions& options, const Placement& placement, ProcessGroup* ranks, ModuleRef module,
           const std::optional<data::DataModuleRef>& data_module, Stage stage, bool trial = false);

  /// From prepare_data until the module is on its device.
  void setup();
  /// Gives the module the run's precision, device and memory format; once more where a hook has changed its parameters.
  void place();
  /// `found`: by levin::tune.
  void configure_optimizers(const FoundRate& found = {});
  void teardown();
  /// Puts back what the run has changed outside of itself; what a checkpoint needs of it stays.
  void end();
  /// Runs `body`; where it throws, on_exception is called and the loggers are closed before the exception goes on. None
  /// of that calls the other ranks: what is logged has this rank's own values, and a collective throws.
  void guarded(const std::function<void()>& body);

 private:
  /// Once on each machine, before any rank goes on.
  void prepare_data();
  void add(const CallbackEntry& entry);
  template <class C>
  bool has() const;
  void failed(const std::exception& error);

  LightningModule& module_;
  ProcessGroup* ranks_;
  Stage stage_;
  bool first_of_machine_;
  std::optional<TorchSettings> settings_;
  std::optional<KeptHeap> heap_ = {};
  std::unique_ptr<Strategy> strategy_;
  std::unique_ptr<PrecisionPlugin> precision_;
  std::optional<RunInProgress> in_progress_ = {};
  std::optional<RngGuard> generator_as_before_ = {};

 public:
  RunContext run;
};

/// How the ranks of these options reduce gradients.
parallel::DistributedDataParallelOptions ddp_options(const TrainerOptions& options);

}  // namespace levin
