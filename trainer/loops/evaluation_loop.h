#pragma once
#include <levin/data/loader.h>
#include <levin/trainer/loops/ranked_loader.h>
#include <levin/trainer/run/run_context.h>

#include <functional>
#include <optional>
#include <vector>

namespace levin {

class RankAgreement;

/// Validation or test: runs every batch of every loader once, in eval mode and without gradients.
///
///     module.on_validation_model_eval
///     on_validation_start, on_validation_epoch_start
///     for each loader, for each batch: transfer hooks, on_validation_batch_start, validation_step, ..._batch_end,
///       save if asked
///     on_validation_epoch_end, values reduced and logged, on_validation_end
///     module.on_validation_model_train
class EvaluationLoop {
 public:
  /// `stage`: Validate or Test. `load` calls `source` once.
  EvaluationLoop(RunContext& run, Stage stage, std::function<data::Loaders()> source);

  /// Returns false if the module has no such step, the limit is 0, or `load` found no loaders.
  bool enabled() const;
  void load();
  /// For a fit on several ranks: a signal ends a validation on all ranks at the same batch. `ranks` must outlive the
  /// loop.
  void agree_by(RankAgreement& ranks) { ranks_ = &ranks; }
  /// Drops the loaders; `load` asks for new ones.
  void unload();
  /// Runs all batches up to the limit and logs the reduced values. In a fit the gradients are dropped before it, unless
  /// a window is open. If the run was resumed inside a validation, runs its remaining batches. Returns false if a
  /// signal ended the validation early; its position can be saved.
  bool run();
  /// Runs at most num_sanity_val_steps batches of each loader. Logs and keeps nothing, and restores the random number
  /// generator.
  void run_sanity_check();

 private:
  /// `resumed`: the evaluation had begun before the run was saved.
  bool evaluate(Stage stage, std::optional<int64_t> at_most, bool resumed = false);
  bool evaluate_loader(RankedLoader& loader, int64_t index, std::optional<int64_t> at_most);
  bool evaluate_loaders(std::optional<int64_t> at_most);
  void run_step(const Batch& batch, int64_t batch_idx);
  void evaluate_batch(Batch batch, int64_t batch_idx);

  struct StageHooks;
  static const StageHooks& stage_hooks(Stage stage);

  RunContext& run_;
  const RunParts& parts_;
  TrainerState& counters_;
  MetricSink& sink_;
  Stage stage_;
  const StageHooks& hooks_;
  std::function<data::Loaders()> source_;
  std::optional<data::Loaders> loaders_ = {};
  std::vector<RankedLoader> ranked_ = {};  ///< one per loader
  RankAgreement* ranks_ = nullptr;
};

}  // namespace levin
