#include <levin/trainer/run/save_points.h>
#include <levin/core/state/deep_copy.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/trainer/run/run_context.h>

#include <chrono>
#include <utility>

namespace levin {

SavePoints::SavePoints(RunContext& run, CheckpointOf checkpoint_of)
    : run_(run),
      checkpoint_of_(checkpoint_of),
      saver_(*this,
             {.comm = run.parts.comm(),
              .errors_are_warnings = run.parts.options->checkpoint_errors == CheckpointErrors::Warn,
              .profiler = run.parts.profiler,
              .timeout = std::chrono::milliseconds(static_cast<int64_t>(run.parts.options->timeout_seconds * 1000))}) {}

void SavePoints::before_save(const std::filesystem::path& file) { run_.state.folder.note_checkpoint(file); }

std::filesystem::path SavePoints::run_folder() const { return run_.state.folder.path(); }

void SavePoints::request(const std::filesystem::path& path, SaveCheckpointOptions how) {
  if (path.empty()) throw UsageError("save_checkpoint: expected the path of a file, got \"\"");
  const std::filesystem::path folder = run_.view.checkpoint_folder();
  if (!how.link_as.empty()) how.link_as = folder / how.link_as;
  saver_.request({folder / path, std::move(how)});
}

void SavePoints::take_asked() {
  for (const std::filesystem::path& path : std::exchange(asked_of_all_ranks_, {})) request(path, {});
  saver_.share_requests();
}

void SavePoints::save_if_any_rank_asks() {
  take_asked();
  save_if_asked();
}

void SavePoints::save() {
  run_.state.counters.elapsed_seconds = run_.state.clock.seconds();
  saver_.save();
}

void SavePoints::save_after_exception() {
  if (!saver_.has_requests()) return;
  if (run_.state.config.json.empty()) {  // the set-up has not ended: there is nothing to save
    saver_.drop_requests();
    return;
  }
  if (run_.comm().processes() > 1) {
    saver_.drop_requests();
    console::warn("no checkpoint is saved after the exception: the other ranks, which have parts of it, are not here");
    return;
  }
  run_.state.counters.window.position = 0;
  run_.state.counters.batch_phase.finish();
  save();
  finish();
}

State SavePoints::weights() {
  StrategyState& strategy = run_.parts.strategy.state();
  if (shards_ == nullptr) return deep_copy(strategy.weights());
  State slices = State::dict();
  State weights = deep_copy(strategy.sharded_weights(slices, c10::str("weights ", ++sharded_sets_)));
  for (const auto& [key, slice] : slices.to_dict()) (*shards_)[key] = deep_copy(slice);
  return weights;
}

}  // namespace levin
