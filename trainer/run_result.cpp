#include <levin/trainer/run_result.h>
#include <levin/callbacks/model_checkpoint.h>
#include <levin/trainer/assembly/run_folder.h>
#include <levin/trainer/run/run_context.h>

namespace levin {
namespace {

/// Returns the first ModelCheckpoint with a best score, or else the first that has a best path; null without one.
const ModelCheckpoint* best_checkpoint_of(const RunContext& run) {
  const ModelCheckpoint* found = nullptr;
  for (const CallbackEntry& entry : run.parts().callbacks) {
    const auto* one = dynamic_cast<const ModelCheckpoint*>(entry.callback.get());
    if (one != nullptr && one->best_model_score()) return one;
    if (one != nullptr && found == nullptr && !one->best_model_path().empty()) found = one;
  }
  return found;
}

}  // namespace

RunResult result_of(const RunContext& run) {
  const TrainerState& counters = run.counters();
  const ModelCheckpoint* best = best_checkpoint_of(run);
  return {.status = run.stops().reason() ? "stopped" : "completed",
          .stop_reason = run.stops().reason().value_or(""),
          .epochs = counters.epoch + (counters.batch_in_epoch > 0),
          .global_step = counters.global_step,
          .wall_seconds = run.clock().seconds(),
          .metrics = run.metrics(),
          .best_checkpoint = best ? best->best_model_path() : std::filesystem::path(),
          .best_score = best ? best->best_model_score() : std::nullopt,
          .folder = run.run_folder().path()};
}

void write_summary(const RunResult& result, const RunFolder& folder) {
  const bool has_best = !result.best_checkpoint.empty();
  folder.write_summary({.status = result.status,
                        .epochs = result.epochs,
                        .global_step = result.global_step,
                        .wall_seconds = result.wall_seconds,
                        .metrics = result.metrics,
                        .best_checkpoint = has_best ? std::optional(result.best_checkpoint.string()) : std::nullopt,
                        .best_score = result.best_score});
}

}  // namespace levin
