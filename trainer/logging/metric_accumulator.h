#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/run/log_sink.h>
#include <levin/core/state/state.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace levin {

/// The values of one logged name: the newest value and the reduction over the epoch.
///
/// CPU values are read at once (no host sync) and accumulated in double. Values on other devices stay there.
struct MetricAccumulator {
  LogOptions options = {};
  bool declared = false;  ///< `options` come from a call of log, not from a restored state
  bool on_step = false, on_epoch = false;

  double newest = 0;
  at::Tensor newest_on_device = {};
  double newest_weight = 1;
  int64_t newest_batch = 0;  ///< the number of the batch of `newest`
  bool fresh = false;        ///< newest was logged since the last read_step

  double value = 0, weight = 0;
  at::Tensor value_on_device = {};

  std::shared_ptr<LoggedMetric> metric = {};  ///< replaces `value` if a metric is logged
  /// Restored states, of one or several ranks, of a metric that has not been logged since; `value` is its value.
  std::optional<std::vector<State>> restored_metrics = {};

  /// `weighs_as_batch`: the weight is that of the batch, which `reweigh` may change later.
  void add(double logged, double sample_weight, int64_t batch, bool weighs_as_batch = false);
  void add(const at::Tensor& logged, double sample_weight, int64_t batch, bool weighs_as_batch = false);
  void add(const std::string& name, const std::shared_ptr<LoggedMetric>& logged, double sample_weight, int64_t batch);
  /// Host sync if the value is on another device.
  double read_newest() const;
  /// Returns the reduced value; unset if nothing was logged since the reset. Host sync, as read_newest.
  std::optional<double> read_epoch(const std::string& name) const;
  void reset_epoch();
  /// Changes the weight of what batch number `batch` has logged as the batch's, also in the mean.
  void reweigh(double batch_weight, int64_t batch);

 private:
  /// What the newest batch has added as the batch's, and the mean without it.
  struct OfBatch {
    int64_t number = -1;
    double count = 0, sum = 0, value_before = 0, weight_before = 0;
    at::Tensor sum_on_device = {}, value_on_device_before = {};
  };
  /// Returns the part of batch number `batch`, which begins if the last one is of another batch.
  OfBatch& part_of(int64_t batch);

  OfBatch of_batch_ = {};
  bool newest_weighs_as_batch_ = false;
  void mark_newest(double sample_weight, int64_t batch, bool weighs_as_batch);
};

/// Computes a metric that was logged as `name`. Throws UsageError if the value has more or less than one element. Host
/// sync.
double read_value(const std::string& name, const LoggedMetric& metric);

/// Throws UsageError unless `value`, logged as `name`, has one element.
void check_one_element(const std::string& name, const at::Tensor& value);

}  // namespace levin
