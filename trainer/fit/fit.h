#pragma once
#include <levin/trainer/fit/assembly.h>
#include <levin/trainer/launch/start_identity.h>
#include <levin/trainer/loops/fit_loop.h>
#include <levin/trainer/run/fit_driver.h>
#include <levin/trainer/run/run_inputs.h>
#include <levin/trainer/run_folder/find_checkpoint.h>
#include <levin/trainer/run_folder/run_result.h>

#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>

namespace levin {

/// A fit from its setup to its result. `begin` comes first, `end` last; in between, `train` or a host program trains.
///
/// If one of these functions or a part given to `guarded` throws, the fit has failed: on_exception is called, the
/// failure is reported to the supervisor, the summary of a failed run is written, and the exception is rethrown. Only
/// the destructor may follow.
class Fit final : private FitDriver {
 public:
  struct Request {
    const RunInputs& inputs;
    RunConfig config;                                    ///< of the trainer; may be empty
    FoundRate found_rate;                                ///< of levin::tune
    StartIdentity start;                                 ///< by which a restart finds this fit's checkpoints
    std::filesystem::path runs;                          ///< the folder of all runs of this name
    Action profiled_step = Action::TrainDataloaderNext;  ///< begins a step for profilers
    bool prints_end = true;                              ///< false: the caller prints how the fit ended
    std::function<State()> host_states = {};             ///< of a session; see FitDriver
  };

  /// `assembly` must outlive the fit, and the inputs too. Finds the checkpoint to resume from: a restarted fit
  /// resumes from its own newest one. Collective: all ranks call it.
  Fit(Assembly& assembly, Request request);

  /// Sets the run up, restores it from the checkpoint and calls on_fit_start.
  void begin();
  /// Trains with the loaders of the inputs until the run is over.
  void train();
  /// Calls on_fit_end, waits for the checkpoints, tears the run down and writes weights.pt and the summary.
  RunResult end();
  void guarded(const std::function<void()>& part);

 private:
  void setup();
  void keep_saved_config(const State& checkpoint);
  void restore();
  /// Returns the error to throw: of a lost rank it also says the position.
  std::exception_ptr report(std::exception_ptr error);
  void end_failed();

  data::Loaders make_train_loaders();
  /// Returns the training loaders, which exist already if their size was needed.
  data::Loaders take_train_loaders();
  void configure_optimizers() override;
  std::optional<int64_t> estimated_steps() override;
  State host_states() const override { return request_.host_states ? request_.host_states() : State(); }

  Assembly& assembly_;
  RunContext& run_;
  Request request_;
  LoaderSource given_;
  std::optional<FoundCheckpoint> found_ = {};
  std::filesystem::path resumed_from_ = {};
  std::optional<data::Loaders> made_early_ = {};
  std::optional<FitLoop> loop_ = {};  ///< outlives an exception, after which a checkpoint may be saved
};

}  // namespace levin
