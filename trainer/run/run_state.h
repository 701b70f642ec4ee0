#pragma once
#include <levin/core/run/step_context.h>
#include <levin/core/run/trainer_state.h>
#include <levin/data/loader.h>
#include <levin/trainer/logging/loss_watch.h>
#include <levin/trainer/logging/metric_sink.h>
#include <levin/trainer/run/accumulation_scale.h>
#include <levin/trainer/run/resumption.h>
#include <levin/trainer/run/run_clock.h>
#include <levin/trainer/run/stop_requests.h>
#include <levin/trainer/run_folder/run_folder.h>

#include <cstdint>
#include <optional>

namespace levin {

class BatchInHand;

/// The loaders of a run, which must outlive it or be replaced.
struct RunLoaders {
  /// Batches per epoch of the current loader, with limits; unset if it does not know.
  std::optional<int64_t> batches = {};
  /// Batches per training epoch of the whole fit (ResolvedOptions::whole_fit); the outer value is set once the training
  /// loader exists, the inner one if it knows.
  std::optional<std::optional<int64_t>> planned_batches = {};
  /// Checkpoints hold their positions; null without one.
  const data::Loaders *train = nullptr, *evaluation = nullptr;
};

/// What the loops of a run share.
struct RunState {
  TrainerState counters = {};
  MetricSink sink = {};
  LossWatch loss_watch = {};
  StepContext step_context = {};  ///< the module's view of the run
  RunClock clock = {};
  StopRequests stops;
  Resumption resumption = {};
  AccumulationScale accumulation_scale = {};
  RunFolder folder = {};
  RunConfig config = {};
  RunLoaders loaders = {};
  const BatchInHand* in_hand = nullptr;  ///< null between batches
  int64_t batch_idx = 0;                 ///< of the newest batch, in its loader and epoch
  int64_t log_rows = 0;                  ///< rows that the loggers were given
  int64_t extra_epochs = 0;              ///< which callbacks add to max_epochs
};

}  // namespace levin
