#pragma once
#include <levin/callbacks/callback.h>
#include <levin/callbacks/fit_control.h>
#include <levin/core/options/epoch_start.h>
#include <levin/core/options/option.h>
#include <levin/modules/lr_schedulers/anneal_strategy.h>
#include <levin/modules/lr_schedulers/engine/per_group.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace levin {

struct StochasticWeightAveragingOptions {
  PerGroup swa_lrs = LEVIN_OPTION(swa_lrs, {}, "Learning rate while averaging, of all or of each group; required");
  EpochStart swa_epoch_start =
      LEVIN_OPTION(swa_epoch_start, 0.8, "First epoch, from 1, whose weights count; a fraction: of max_epochs");
  int64_t annealing_epochs = LEVIN_OPTION(annealing_epochs, 10, "Epochs until swa_lrs is reached", {.min = 0});
  Choice<AnnealStrategy> annealing_strategy =
      LEVIN_OPTION(annealing_strategy, AnnealStrategy::Cos, "Form of the way to swa_lrs");
  std::string device = LEVIN_OPTION(device, "cpu", "Device of the averages; empty: that of each parameter");
  /// Returns the new average of a parameter from the average of `averaged` values and a further value, all of one
  /// shape on the averages' device. Unset: the mean of all values.
  std::function<at::Tensor(const at::Tensor& average, const at::Tensor& value, int64_t averaged)> avg_fn = {};
};

/// Averages the weights that the last part of a fit goes through, at a high learning rate; the fit ends with the
/// averages, which often generalise better than the last weights.
///
/// At the start of each epoch from `swa_epoch_start` on the weights join the averages, and SWALR sets the learning rate
/// in place of the module's scheduler. If the module has batch norms and the fit a max_epochs, one more epoch follows:
/// with the averages as weights, batches only run forward, so that running statistics become the mean over its batches.
/// The averages are copied to the module before that epoch or in on_fit_end: earlier checkpoints hold the weights
/// themselves. If the fit ends before max_epochs, the module keeps its weights. Under `dp` the replicas of batch norms
/// keep their momentum. Source: lightning.pytorch.callbacks.StochasticWeightAveraging
class StochasticWeightAveraging : public Callback, public FitControl {
 public:
  using Options = StochasticWeightAveragingOptions;

  /// Throws UsageError for bad options, or without `swa_lrs`.
  explicit StochasticWeightAveraging(StochasticWeightAveragingOptions options);

  void setup(Run& run) override;
  /// Throws UsageError for several optimizers or schedulers, and under manual optimization.
  void on_fit_start(Run& run) override;
  void on_train_epoch_start(Run& run) override;
  void on_train_end(Run& run) override;
  void on_fit_end(Run& run) override;
  void on_exception(Run& run, const std::exception& error) override;

  int64_t extra_epochs() const override { return updates_batch_norms_ ? 1 : 0; }
  bool is_forward_only() const override { return is_updating_; }
  LRScheduler* lr_scheduler() override { return scheduler_.get(); }
  int64_t epochs_of_lr_scheduler() const override;

  /// PyTorch Lightning's keys: n_averaged, latest_update_epoch, scheduler_state, average_model_state.
  State state_dict() const override;
  void load_state_dict(const State& state) override;

  /// Returns how many values each average stands for.
  int64_t n_averaged() const { return n_averaged_; }

 private:
  struct Entry {
    std::string name;
    at::Tensor parameter, average;
  };
  void start(Run& run);
  void make_scheduler(Run& run);
  void resume_scheduler(Run& run, const State& saved);
  void update();
  void copy_to_module();
  void let_batch_norms_average(Run& run, bool from_nothing);
  void put_momenta_back();

  StochasticWeightAveragingOptions options_;
  int64_t first_epoch_ = 0;                                 ///< from 0
  std::optional<int64_t> last_epoch_ = {};                  ///< unset without max_epochs
  bool updates_batch_norms_ = false, is_updating_ = false;  ///< there is an extra epoch; it has begun
  int64_t n_averaged_ = 0, latest_update_epoch_ = -1;
  std::vector<Entry> entries_ = {};
  std::vector<std::pair<std::string, at::Tensor>> buffers_ = {};
  std::shared_ptr<LRScheduler> scheduler_ = {};
  /// The momenta of batch norms, which are unset during the extra epoch.
  std::vector<std::pair<std::optional<double>*, std::optional<double>>> momenta_ = {};
  State loaded_ = {};
};

}  // namespace levin
