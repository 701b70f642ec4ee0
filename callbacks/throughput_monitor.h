#pragma once
#include <levin/callbacks/callback.h>
#include <levin/core/options/option.h>
#include <levin/data/batch.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace levin {

class FlopCounter;

struct ThroughputMonitorOptions {
  int64_t window_size = LEVIN_OPTION(window_size, 100, "Batches of the rolling means", {.min = 2});
  std::string separator = LEVIN_OPTION(separator, "/", "Between the parts of the metrics' names");
  std::string items_of =
      LEVIN_OPTION(items_of, "", "Tensor of the batch whose elements are the items, such as tokens; empty: no items");
  bool count_flops = LEVIN_OPTION(count_flops, true, "Count the operations of the first batch");
  std::optional<double> available_flops = LEVIN_OPTION(
      available_flops, {}, "What the device can do in a second, for mfu; unset: measured with a matrix product",
      {.exclusive_min = 0});
  /// Returns the samples of a batch, in place of Batch::size().
  std::function<int64_t(const Batch& batch)> batch_size_fn = {};
  /// Returns the items of a batch, in place of `items_of`.
  std::function<int64_t(const Batch& batch)> length_fn = {};
};

/// Logs how much a fit does per second: `train/time`, `train/batches`, `train/samples`, and as means over the last
/// `window_size` batches `train/device/batches_per_sec`, `samples_per_sec`, `items_per_sec`, `flops_per_sec` and `mfu`,
/// the share of what the device can do; with several ranks also `train/samples_per_sec` and so on over all of them.
///
/// Operations are counted once, forward and backward of matrix products, convolutions and attention, and taken to grow
/// with the samples. What the device can do is measured in on_train_start in the dtype of the parameters (0.1 s). Time
/// in validations does not count. On a GPU the clock is read without waiting for the device, which log points do.
/// Source: lightning.pytorch.callbacks.ThroughputMonitor
class ThroughputMonitor : public Callback {
 public:
  using Options = ThroughputMonitorOptions;

  ThroughputMonitor();
  /// Throws UsageError for bad options.
  explicit ThroughputMonitor(ThroughputMonitorOptions options);

  void on_train_start(Run& run) override;
  void on_train_batch_start(Run& run) override;
  void on_train_batch_end(Run& run) override;
  void on_validation_start(Run& run) override;
  void on_validation_end(Run& run) override;
  void on_exception(Run& run, const std::exception& error) override;

  /// Returns the operations of one sample, forward and backward; 0 before the first batch has ended.
  double flops_per_sample() const { return flops_per_sample_; }
  /// Returns the operations per second that the device can do, as given or measured; unset before on_train_start.
  std::optional<double> available_flops() const { return available_flops_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Totals {
    double seconds = 0;
    int64_t batches = 0, samples = 0, items = 0;
  };
  int64_t items_in(const Batch& batch) const;
  void log_totals(Run& run) const;
  void log_rates(Run& run) const;

  ThroughputMonitorOptions options_ = {};
  std::shared_ptr<FlopCounter> counter_ = {};  ///< during the first batch
  double flops_per_sample_ = 0;
  std::optional<double> available_flops_ = {};
  Totals totals_ = {};
  std::deque<Totals> window_ = {};  ///< the totals after the last batches
  Clock::time_point started_ = {}, validation_started_ = {};
};

}  // namespace levin
