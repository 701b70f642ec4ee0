#pragma once
#include <levin/callbacks/callback.h>
#include <levin/core/options/metric_mode.h>
#include <levin/core/options/option.h>
#include <levin/core/system/error.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace levin {

struct SpikeDetectionOptions {
  Choice<MetricMode> mode = LEVIN_OPTION(mode, MetricMode::Min, "Whether a loss should be small or large");
  int64_t window = LEVIN_OPTION(window, 10, "Batches of the running mean", {.min = 1});
  int64_t warmup = LEVIN_OPTION(warmup, 1, "First batches of each epoch that are not checked", {.min = 0});
  std::optional<double> atol =
      LEVIN_OPTION(atol, {}, "Smallest distance from the running mean that counts", {.min = 0});
  std::optional<double> rtol =
      LEVIN_OPTION(rtol, 2.0, "Smallest distance from the running mean that counts, as a multiple of it", {.min = 0});
  std::string exclude_batches_path =
      LEVIN_OPTION(exclude_batches_path, "", "File or folder of skip_batches.json; empty: the run's folder");
  bool finite_only = LEVIN_OPTION(finite_only, true, "A loss that is NaN or infinite is a spike");
};

/// Thrown by SpikeDetection.
class TrainingSpikeException : public Error {
 public:
  TrainingSpikeException(int64_t batch_idx_, const std::string& message) : Error(message), batch_idx(batch_idx_) {}
  int64_t batch_idx;  ///< in its epoch
};

/// Ends the run at a batch whose loss jumps away from the running mean of the last ones, and writes the indices of that
/// batch and the one before to `skip_batches.json`.
///
/// A loss is a spike if it is worse than the last one and lies both `atol` and `rtol` times the mean away from the mean
/// of the last `window` losses. If the loss of one rank is a spike, all ranks end. Reads the loss of each batch (a host
/// sync on a GPU). Source: lightning.pytorch.callbacks.SpikeDetection
class SpikeDetection : public Callback {
 public:
  using Options = SpikeDetectionOptions;

  SpikeDetection() = default;
  /// Throws UsageError for bad options.
  explicit SpikeDetection(SpikeDetectionOptions options);

  void setup(Run& run) override;
  /// Throws TrainingSpikeException.
  void on_train_batch_end(Run& run) override;

  /// PyTorch Lightning's keys last_val and bad_batches, and running, the losses of the running mean.
  State state_dict() const override;
  void load_state_dict(const State& state) override;

  /// Returns the indices of the batches that were written to the file.
  const std::vector<int64_t>& bad_batches() const { return bad_batches_; }

 private:
  bool is_spike(double loss) const;
  [[noreturn]] void end(Run& run, double loss);

  SpikeDetectionOptions options_ = {};
  double last_ = 0;
  std::deque<double> running_ = {};
  std::vector<int64_t> bad_batches_ = {};
};

}  // namespace levin
