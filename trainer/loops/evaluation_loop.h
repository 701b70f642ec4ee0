#pragma once
#include <levin/data/loader.h>
#include <levin/trainer/loops/ranked_loader.h>
#include <levin/trainer/loops/run_context.h>

#include <functional>
#include <optional>
#include <vector>

namespace levin {

class RankAgreement;

/// Validation or test: every batch of every loader once, in eval mode and without gradients.
///
///     module.on_validation_model_eval
///     on_validation_start, on_validation_epoch_start
///     for each loader, for each batch: transfer hooks, on_validation_batch_start, validation_step, ..._batch_end,
///       save if asked
///     on_validation_epoch_end, values reduced and logged, on_validation_end
///     module.on_validation_model_train
class EvaluationLoop {
 public:
  /// `stage` is Validate or Test; `source` is called by `load`, once.
  EvaluationLoop(RunContext& run, Stage stage, std::function<data::Loaders()> source);

  /// False where the module has no such step, the limit is 0, or there are no loaders (once they are loaded).
  bool enabled() const;
  void load();
  /// In a fit on several ranks: signals end a validation on all of them at once. `ranks` must outlive the loop's use.
  void agree_by(RankAgreement& ranks) { ranks_ = &ranks; }
  /// Forgets the loaders; `load` asks for new ones.
  void unload();
  /// All batches up to the limit; logs the reduced values. In a run that was continued inside a validation, the batches
  /// that were left of it. False where a signal ended it early; its place can be saved.
  bool run();
  /// The same with at most num_sanity_val_steps batches of each loader, and nothing logged or kept; the generator's
  /// state is put back.
  void run_sanity_check();

 private:
  bool evaluate(Stage stage, std::optional<int64_t> at_most);
  bool evaluate_loader(RankedLoader& loader, int64_t index, std::optional<int64_t> at_most);
  bool evaluate_loaders(std::optional<int64_t> at_most);
  void evaluate_batch(Batch batch, int64_t batch_idx, int64_t dataloader_idx);

  struct Hooking;
  static const Hooking& hooking(Stage stage);

  RunContext& run_;
  Stage stage_;
  const Hooking& hooks_;
  std::function<data::Loaders()> source_;
  std::optional<data::Loaders> loaders_ = {};
  std::vector<RankedLoader> ranked_ = {};  ///< one for each of them
  RankAgreement* ranks_ = nullptr;
};

}  // namespace levin
