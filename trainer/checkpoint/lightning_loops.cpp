#include <levin/trainer/checkpoint/lightning_loops.h>
#include <levin/core/system/error.h>

#include <algorithm>

namespace levin {
namespace {

/// In a checkpoint at an epoch's end, Lightning counts the epoch as "processed" but not yet as "completed".
bool at_epoch_end(const TrainerState& state) { return state.batch_in_epoch == 0 && state.epoch > 0; }

State ready_completed(int64_t count) { return State::dict({{"ready", count}, {"completed", count}}); }

State started(int64_t count) {
  State counts = ready_completed(count);
  counts["started"] = count;
  return counts;
}

State processed(int64_t count) {
  State counts = started(count);
  counts["processed"] = count;
  return counts;
}

State total_and_current(const State& total, const State& current) {
  return State::dict({{"total", total}, {"current", current}});
}

State batch_progress(int64_t total, int64_t current, bool last) {
  State progress = total_and_current(processed(total), processed(current));
  progress["is_last_batch"] = last;
  return progress;
}

State epoch_counts(const TrainerState& state) {
  State counts = processed(state.epoch);
  if (at_epoch_end(state)) {
    counts["completed"] = state.epoch - 1;
  } else if (state.batch_in_epoch > 0) {
    counts["ready"] = counts["started"] = state.epoch + 1;
  }
  return counts;
}

State evaluation_loop() {
  return State::dict({{"state_dict", State::dict()}, {"batch_progress", batch_progress(0, 0, false)}});
}

int64_t count_of(const State& progress, const char* range, const char* name) {
  return progress.at(range).at(name).to_int();
}

}  // namespace

int64_t lightning_global_step(const TrainerState& state, int64_t optimizers) {
  return state.global_step * std::max<int64_t>(optimizers, 1);
}

int64_t lightning_epoch(const TrainerState& state) { return at_epoch_end(state) ? state.epoch - 1 : state.epoch; }

State lightning_loops(const TrainerState& state, int64_t optimizers) {
  const int64_t steps = lightning_global_step(state, optimizers);
  const int64_t batches = at_epoch_end(state) ? state.batches_of_last_epoch : state.batch_in_epoch;
  const bool last = at_epoch_end(state) || state.last_batch;
  const State step_progress = total_and_current(ready_completed(steps), ready_completed(steps));
  const bool automatic = optimizers == 1;
  const State none = total_and_current(ready_completed(0), ready_completed(0));
  const State fit = State::dict({
      {"state_dict", State::dict()},
      {"epoch_loop.state_dict", State::dict({{"_batches_that_stepped", state.batches_seen}})},
      {"epoch_loop.batch_progress", batch_progress(state.batches_seen, batches, last)},
      {"epoch_loop.scheduler_progress", none},
      {"epoch_loop.automatic_optimization.state_dict", State::dict()},
      {"epoch_loop.automatic_optimization.optim_progress",
       State::dict({{"optimizer", State::dict({{"step", automatic ? step_progress : none},
                                               {"zero_grad", total_and_current(started(automatic ? steps : 0),
                                                                               started(automatic ? steps : 0))}})}})},
      {"epoch_loop.manual_optimization.state_dict", State::dict()},
      {"epoch_loop.manual_optimization.optim_step_progress", automatic ? none : step_progress},
      {"epoch_loop.val_loop.state_dict", State::dict()},
      {"epoch_loop.val_loop.batch_progress", batch_progress(0, 0, at_epoch_end(state))},
      {"epoch_progress", total_and_current(epoch_counts(state), epoch_counts(state))},
  });
  return State::dict({{"fit_loop", fit},
                      {"validate_loop", evaluation_loop()},
                      {"test_loop", evaluation_loop()},
                      {"predict_loop", evaluation_loop()}});
}

TrainerState state_of_lightning(const State& checkpoint, int64_t optimizers) {
  const State* loops = checkpoint.find("loops");
  if (loops == nullptr)
    throw UsageError(
        "it has no \"loops\": written by PyTorch Lightning before 1.5; a run cannot be resumed from it. Its weights "
        "can be "
        "read: model.weights, or levin::load_weights");
  const State& fit = loops->at("fit_loop");
  const State& epochs = fit.at("epoch_progress");
  const State& batches = fit.at("epoch_loop.batch_progress");
  TrainerState state;
  state.global_step = checkpoint.at("global_step").to_int() / std::max<int64_t>(optimizers, 1);
  // "processed" includes the epoch at whose end the checkpoint was saved, but not an epoch that is still running.
  state.epoch = count_of(epochs, "current", "processed");
  state.batches_seen = count_of(batches, "total", "processed");
  const bool inside_epoch = count_of(epochs, "current", "started") > state.epoch;
  if (inside_epoch) {
    state.batch_in_epoch = count_of(batches, "current", "processed");
    state.last_batch = batches.at("is_last_batch").to_bool();
  }
  state.batches_of_last_epoch = count_of(batches, "current", "processed");
  return state;
}

}  // namespace levin
