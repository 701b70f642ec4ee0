#pragma once
#include <levin/trainer/run/run_context.h>

#include <cstdint>
#include <optional>

namespace levin {

/// While it lives, a run is in the stage of an evaluation. Afterwards, also if the evaluation throws, stage, number of
/// batches and the table of logged values are those of before.
class StageScope {
 public:
  /// `run` must outlive the object.
  StageScope(RunContext& run, Stage stage)
      : run_(run), stage_(run.state.counters.stage), batches_(run.state.loaders.batches) {
    run_.enter(stage, 0);
  }
  ~StageScope() {
    run_.state.sink.use_train_table();
    run_.enter(stage_, 0);
    run_.state.loaders.batches = batches_;
  }
  StageScope(const StageScope&) = delete;
  StageScope& operator=(const StageScope&) = delete;

 private:
  RunContext& run_;
  Stage stage_;
  std::optional<int64_t> batches_;
};

}  // namespace levin
