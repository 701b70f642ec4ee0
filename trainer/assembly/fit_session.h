#pragma once
#include <levin/trainer/assembly/assembly.h>
#include <levin/trainer/assembly/run_inputs.h>
#include <levin/trainer/checkpoint/find_checkpoint.h>
#include <levin/trainer/launch/start_identity.h>
#include <levin/trainer/loops/fit_loop.h>
#include <levin/trainer/run_result.h>

#include <cstdint>
#include <exception>
#include <filesystem>
#include <optional>

namespace levin {

/// One call of Trainer::fit, from its setup to its result.
class FitSession {
 public:
  struct Request {
    const RunInputs& inputs;
    RunConfig config;            ///< as set by Trainer::set_config; may be empty
    FoundRate found_rate;        ///< of levin::tune
    StartIdentity start;         ///< by which a restart finds this fit's checkpoints
    std::filesystem::path runs;  ///< the folder of all runs of this name
  };

  /// `assembly` must outlive the session, and the inputs too. Finds the checkpoint to resume from: a restarted fit
  /// resumes from its own newest one. Collective: all ranks call it.
  FitSession(Assembly& assembly, Request request);

  /// Runs the fit. If anything throws, it reports the failure to the supervisor, writes the summary of a failed run and
  /// rethrows.
  RunResult run();

 private:
  void setup();
  void restore();
  void train();
  RunResult finish();
  /// Returns the error to throw: of a lost rank it also says the position.
  std::exception_ptr report(std::exception_ptr error);
  void end_failed();

  data::Loaders make_train_loaders();
  /// Returns the training loaders, which exist already if their size was needed.
  data::Loaders take_train_loaders();
  std::optional<int64_t> estimated_steps();

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
