#pragma once
#include <levin/callbacks/callback.h>
#include <levin/trainer/core/error.h>
#include <levin/trainer/core/signals.h>
#include <levin/trainer/options.h>

#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

namespace levin::cli {

/// What ends an evaluation after a signal: there is nothing to finish.
class Interrupted : public Error {
 public:
  using Error::Error;
};

/// SIGTERM and SIGINT stop; SIGUSR1 and SIGUSR2 do what the trainer's options say.
std::vector<std::pair<int, SignalAction>> signal_actions(const TrainerOptions& options);

/// Does what signals ask that SignalGuard has noted: saves checkpoints, ends a fit after its step (inside a validation,
/// after its batch) with a checkpoint saved, and ends an evaluation at its next batch.
class HandleSignals : public Callback {
 public:
  /// `saves`: whether checkpoints are written at all.
  HandleSignals(bool is_fit, bool saves) : is_fit_(is_fit), saves_(saves) {}
  void on_train_batch_end(Run& run) override;
  void on_train_end(Run& run) override;
  void on_validation_batch_end(Run& run) override;
  void on_test_batch_end(Run& run) override;
  void on_predict_batch_end(Run& run) override;

  /// The checkpoint that was saved before the end that a signal asked for; empty without one.
  const std::filesystem::path& saved() const { return saved_; }
  /// The folder of the run that saved it.
  const std::filesystem::path& run_folder() const { return run_folder_; }

 private:
  void handle(Run& run);
  void stop(Run& run);
  void end_evaluation() const;
  bool is_fit_, saves_;
  std::filesystem::path saved_ = {}, run_folder_ = {};
};

}  // namespace levin::cli
