#include <levin/program/commands/handle_signals.h>
#include <levin/callbacks/model_checkpoint.h>
#include <levin/core/system/slurm.h>
#include <levin/trainer/launch/environment.h>
#include <signal.h>
#include <unistd.h>

#include <string>

namespace levin::cli {
namespace {

SignalAction action_of(OnSignal given) {
  switch (given) {
    case OnSignal::Auto:
      return slurm_job_id().empty() ? SignalAction::Save : SignalAction::Requeue;
    case OnSignal::Save:
      return SignalAction::Save;
    case OnSignal::Stop:
      return SignalAction::Stop;
    case OnSignal::Requeue:
      return SignalAction::Requeue;
    case OnSignal::Ignore:
      break;
  }
  return SignalAction::Ignore;
}

}  // namespace

std::vector<std::pair<int, SignalAction>> signal_actions(const TrainerOptions& options) {
  if (!options.handle_signals) return {};
  return {{SIGTERM, SignalAction::Stop},
          {SIGINT, SignalAction::Stop},
          {SIGHUP, SignalAction::Stop},
          {SIGUSR1, action_of(options.on_sigusr1)},
          {SIGUSR2, action_of(options.on_sigusr2)}};
}

void HandleSignals::on_fit_start(Run& run) {
  if (takes_requests_ && run.comm().is_global_zero()) asked_.emplace(run.folder());
}

void HandleSignals::take_stop_request(const Run& run) {
  if (!asked_ || asked_->now() != RunRequest::Stop) return;
  asked_.reset();
  clear_run_requests(run.folder());
  // A supervisor passes the signal on to its ranks, and does not take their end for a failure then.
  const std::optional<LaunchEnvironment> ranks = find_launch_environment();
  ::kill(ranks && ranks->launcher == "levin" ? ::getppid() : ::getpid(), SIGTERM);
}

void HandleSignals::handle(Run& run) {
  take_stop_request(run);
  if (take_save_signal() && saves_)
    run.save_checkpoint("on_signal.ckpt", {.link_as = "last.ckpt", .upload_to = ModelCheckpoint::upload_folder(run)});
  // Wait for the end of the accumulation window, so that its gradients are in a step.
  if (received_signal() == 0 || run.state().window.position != 0 || !saved_.empty()) return;
  stop(run);
}

void HandleSignals::stop(Run& run) {
  run.request_stop(signal_name(received_signal()));
  if (!saves_) return;
  const std::string name =
      requeue_is_asked() ? "hpc_ckpt_" + std::to_string(slurm_restarts() + 1) + ".ckpt" : "on_signal.ckpt";
  saved_ = run.checkpoint_folder() / name;
  run_folder_ = run.folder();
  run.save_checkpoint(name, {.link_as = "last.ckpt", .upload_to = ModelCheckpoint::upload_folder(run)});
}

void HandleSignals::on_train_batch_end(Run& run) { handle(run); }

void HandleSignals::on_validation_batch_end(Run& run) {
  if (!is_fit_) return end_evaluation();
  // Ranks may have different numbers of batches: the loop ends them together, and on_train_end saves.
  if (run.state().stage == Stage::Validate && run.comm().processes() == 1) handle(run);
}

void HandleSignals::on_train_end(Run& run) {
  const bool in_validation = run.state().batch_phase == BatchPhase::Validating;
  if (is_fit_ && in_validation && received_signal() != 0 && saved_.empty()) stop(run);
}

void HandleSignals::end_evaluation() const {
  if (received_signal() != 0) throw Interrupted("stopped by ", signal_name(received_signal()));
}

void HandleSignals::on_test_batch_end(Run& /*run*/) { end_evaluation(); }
void HandleSignals::on_predict_batch_end(Run& /*run*/) { end_evaluation(); }

}  // namespace levin::cli
