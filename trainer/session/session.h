#pragma once
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <levin/core/run/log_sink.h>
#include <levin/core/run/run.h>
#include <levin/core/state/state.h>
#include <levin/data/batch.h>
#include <levin/data/loader.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/lightning_optimizer.h>
#include <levin/trainer/run_folder/run_result.h>
#include <levin/trainer/session/published_weights.h>
#include <levin/trainer/session/session_control.h>
#include <levin/trainer/session/session_options.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace levin {

struct SessionSetup;
class Trainer;

/// What Session::step did with a batch.
struct StepResult {
  at::Tensor loss = {};      ///< of this batch, detached, on the run's device; undefined if the step returned none
  bool trained = true;       ///< false: training had ended, and the batch was not used
  bool stepped = false;      ///< the batch ended an accumulation window, and an optimizer was asked to step
  bool skipped = false;      ///< the optimizer did not step, since gradients were not finite
  bool ended_epoch = false;  ///< the batch was the last of its epoch
};

/// A function without arguments that returns a loss.
template <class F>
concept LossFunction = std::invocable<F&> && std::convertible_to<std::invoke_result_t<F&>, StepOutput>;

/// An object whose state a checkpoint can hold.
template <class T>
concept HasState = requires(T& object, const State& state) {
  { std::as_const(object).state_dict() } -> std::convertible_to<State>;
  object.load_state_dict(state);
};

class SessionLoader;

/// A fit whose batches the host program hands over, one at a time. Trainer::start begins it.
///
///     levin::Session session = trainer.start(*model);
///     while (app.running() && session.next()) {
///       levin::StepResult result = session.step(batch);
///       session.log("reward", reward);
///     }
///     session.finish();
///
/// A step does all that Trainer::fit does with a batch: transfer, hooks, accumulation, precision, clipping, the
/// optimizer's step, schedulers, logs, checkpoints, callbacks. Training with the batches of `loader` gives the same
/// bits as Trainer::fit.
///
/// Epochs: a LoadedBatch that is the last of its epoch, or end_epoch, ends the epoch. Hooks and schedulers of the
/// epoch's end run in the following call of next or step, so that the host can validate before them. If the host uses
/// neither, the whole session is one epoch.
///
/// All calls must come from one thread, except request_stop, request_save, pause, resume, state, warnings, published
/// and update_lock. After an exception the session has failed: on_exception was called, the logs are closed, and each
/// further call throws. The Trainer may be destroyed once the session has begun.
class Session {
 public:
  Session(Session&& other) noexcept;
  /// Finishes the session that is replaced, as the destructor does.
  Session& operator=(Session&& other) noexcept;
  /// Finishes the session, unless finish was called. While an exception unwinds the stack, the run counts as failed.
  ~Session();

  /// Trains one batch, which is the next micro-batch of the accumulation window. Without an argument training_step gets
  /// an empty batch, for modules that make their own data. Does nothing once the session is over.
  /// Throws levin::UsageError after `finish` or an exception, and if two threads step at once. Collective: all ranks
  /// call it.
  StepResult step(Batch batch = {});
  /// Trains a batch of a loader, which knows whether it is the epoch's last.
  StepResult step(data::LoadedBatch batch);
  /// Trains on a loss that the host computes, in place of training_step. An optimizer such as LBFGS calls the function
  /// several times. Throws levin::UsageError under strategy dp, whose replicas the function does not know.
  template <LossFunction F>
  StepResult step(F loss) {
    return step_on([loss = std::move(loss)]() mutable -> StepOutput { return loss(); });
  }
  /// Ends the epoch after the newest batch: an open accumulation window gets its step. Throws levin::UsageError if the
  /// epoch has no batch. Collective: all ranks call it.
  void end_epoch();
  /// Completes the newest batch, including the end of its epoch if it was the last, and returns whether another batch
  /// is wanted: not at a limit (max_steps, max_epochs, max_time) and not after a request to stop. Collective: all ranks
  /// call it.
  bool next();
  /// Returns whether training has ended, as of the newest `next`, `step`, `end_epoch` or `finish`.
  bool is_over() const;

  /// Runs the module's validation_step on these loaders, or on those of val_dataloader(), and returns the metrics of
  /// each. Collective: all ranks call it.
  std::vector<Metrics> validate(data::Loaders loaders = {});
  /// Makes a loader part of the session: it gets the run's seed and this rank's share of the samples, its position is
  /// in the checkpoints, and a resumed session continues after its last batch. Several loaders become one that gives a
  /// batch of each. Call it before the first step, at most once.
  SessionLoader loader(data::Loaders loaders);

  /// Logs a value of the newest step; see LightningModule::log. A tensor with one element on any device, or a number.
  void log(const std::string& name, const at::Tensor& value, LogOptions options = {});
  void log(const std::string& name, double value, LogOptions options = {});

  /// Returns whether a requested checkpoint waits for `save`.
  bool due_to_save() const;
  /// Saves the requested checkpoints, and one at `path` unless it is empty. A relative path is below the run's folder
  /// `checkpoints`. The file is written while the host continues. Collective: all ranks call it.
  void save(const std::filesystem::path& path = {}, SaveCheckpointOptions how = {});
  /// Adds a part of the host's state to each checkpoint. `save` returns the state; its tensors are copied before the
  /// host continues. In a resumed session `load` is called at once with the saved state, if there is one. Each rank
  /// saves its own state. Call it before the first step. Throws levin::UsageError if the name is taken.
  void register_state(const std::string& name, std::function<State()> save, std::function<void(const State&)> load);
  /// Registers an object whose state the checkpoints hold. It must outlive the session.
  template <HasState T>
  void register_state(const std::string& name, T& object) {
    register_state(
        name, [&object]() -> State { return std::as_const(object).state_dict(); },
        [&object](const State& state) { object.load_state_dict(state); });
  }

  /// Ends the training: closes the epoch, waits for checkpoints, writes weights.pt and summary.json, ends the run for
  /// the module. Throws levin::UsageError if the session has ended. Collective: all ranks call it.
  RunResult finish();

  // --- from any thread ---

  /// Asks the session to end after the current accumulation window; the first reason is kept. A paused session resumes.
  void request_stop(const std::string& reason);
  /// Requests a checkpoint at the end of the current accumulation window; all ranks save it if one of them asks.
  /// `path`: as for `save`.
  void request_save(const std::filesystem::path& path = "requested.ckpt");
  /// Makes the next step wait until `resume` or a request to stop. Of this rank: the others wait for it in their next
  /// collective, until the timeout of the process group ends the run, so resume sooner.
  void pause();
  void resume();
  /// Returns the position after the newest step.
  SessionState state() const;
  /// Returns the run's warnings so far, each text once.
  std::vector<std::string> warnings() const;
  /// Returns the newest published weights. Wait-free.
  PublishedWeights published() const;
  /// Returns a lock that keeps steps and validations from running, so that another thread can read the weights in
  /// place.
  std::unique_lock<std::mutex> update_lock() const;

  // --- of the training thread ---

  /// Copies the weights for readers in other threads. The memory of a copy is reused once no reader holds it.
  void publish();
  /// Calls `callback` in this thread after a step, at most once in `every_seconds`.
  void on_progress(std::function<void(const SessionState&)> callback, double every_seconds = 0.1);
  LightningModule& module();
  /// Returns the CPU generator that steps draw from: the session's own, or LibTorch's default (see random_generator).
  /// Checkpoints hold its state, so the host's own draws from it also continue in a resumed session.
  at::Generator generator() const;
  /// Returns the run, as hooks see it.
  Run& run();
  /// Returns the handle of an optimizer. Throws levin::UsageError if there is no such optimizer.
  LightningOptimizer optimizer(size_t index = 0);

 private:
  friend class Trainer;
  friend class SessionLoader;
  class Impl;

  explicit Session(SessionSetup setup);
  StepResult step_on(std::function<StepOutput()> loss);
  Impl& impl() const;

  std::unique_ptr<Impl> impl_;
};

/// The batches of a session's loader, epoch after epoch. The session must outlive it.
class SessionLoader {
 public:
  /// Returns the next batch; after an epoch's last batch, the first one of the next epoch. Collective: all ranks call
  /// it. Throws levin::UsageError if the loader gives no batch at all.
  data::LoadedBatch next();
  /// Returns the batches per epoch on this rank, within limit_train_batches; unset if unknown.
  std::optional<int64_t> batches() const;

 private:
  friend class Session;
  explicit SessionLoader(Session::Impl& session) : session_(&session) {}

  Session::Impl* session_;
};

}  // namespace levin
