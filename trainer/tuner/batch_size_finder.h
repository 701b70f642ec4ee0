#pragma once
#include <levin/callbacks/before_fit.h>
#include <levin/callbacks/callback.h>
#include <levin/trainer/tuner/scale_batch_size.h>

#include <optional>

namespace levin {

/// Looks for the largest batch size that fits into memory (levin::scale_batch_size) at the start of each fit that is
/// not resumed, and fits with it. A resumed fit has the batch size of its checkpoint. The fit needs a data module that
/// can change its batch size, or `set_batch_size`. Source: lightning.pytorch.callbacks.BatchSizeFinder
class BatchSizeFinder : public Callback, public BeforeFit {
 public:
  using Options = BatchSizeOptions;

  BatchSizeFinder() = default;
  /// Throws UsageError for bad options.
  explicit BatchSizeFinder(BatchSizeOptions options);
  /// Throws as scale_batch_size, and UsageError for loaders, which cannot change their batch size.
  void before_fit(Trainer& trainer, const ModuleRef& module, const RunInputs& inputs) override;
  void on_load_checkpoint(Run& run, const State& checkpoint) override;

  State state_dict() const override;
  void load_state_dict(const State& state) override;

  /// Returns the batch size of the last search or checkpoint; unset before.
  std::optional<int64_t> optimal_batch_size() const { return found_; }

 private:
  BatchSizeOptions options_ = {};
  std::optional<int64_t> found_ = {};
};

}  // namespace levin
