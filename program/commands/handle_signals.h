#pragma once
#include <levin/callbacks/callback.h>
#include <levin/core/system/error.h>
#include <levin/core/system/signals.h>
#include <levin/trainer/options/trainer_options.h>
#include <levin/trainer/run_folder/run_request.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace levin::cli {

/// Thrown to end an evaluation after a signal.
class Interrupted : public Error {
 public:
  using Error::Error;
};

/// Returns the actions of signals: SIGTERM, SIGINT and SIGHUP stop, SIGUSR1 and SIGUSR2 act according to the trainer's
/// options. None if handle_signals is false.
std::vector<std::pair<int, SignalAction>> signal_actions(const TrainerOptions& options);

/// Handles the signals that SignalGuard has recorded: saves checkpoints; saves and ends a fit after the current step
/// or, inside a validation, after the current batch; ends an evaluation after the current batch. What a viewer asks by
/// RunRequest::Stop is the same as SIGTERM.
class HandleSignals : public Callback {
 public:
  /// `saves`: the run writes checkpoints. `takes_requests`: SIGTERM is handled, so that RunRequest::Stop can be.
  HandleSignals(bool is_fit, bool saves, bool takes_requests)
      : is_fit_(is_fit), saves_(saves), takes_requests_(takes_requests) {}
  void on_fit_start(Run& run) override;
  void on_train_batch_end(Run& run) override;
  void on_train_end(Run& run) override;
  void on_validation_batch_end(Run& run) override;
  void on_test_batch_end(Run& run) override;
  void on_predict_batch_end(Run& run) override;

  /// Returns the checkpoint that was saved because a signal ended the run; empty without one.
  const std::filesystem::path& saved() const { return saved_; }
  /// Returns the folder of the run that saved the checkpoint.
  const std::filesystem::path& run_folder() const { return run_folder_; }

 private:
  void handle(Run& run);
  void take_stop_request(const Run& run);
  void stop(Run& run);
  void end_evaluation() const;
  bool is_fit_, saves_, takes_requests_;
  std::optional<RunRequestReader> asked_ = {};  ///< set if requests are taken
  std::filesystem::path saved_ = {}, run_folder_ = {};
};

}  // namespace levin::cli
