#pragma once
#include <ATen/core/Tensor.h>
#include <levin/trainer/core/log_sink.h>
#include <levin/trainer/core/state.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace levin {

/// All values of one logged name: the newest, and those of the epoch reduced.
///
/// CPU values are read at once (that is no sync) and accumulated in double; values on other devices stay there.
struct MetricAccumulator {
  LogOptions options = {};
  bool declared = false;  ///< options are those of a call, not a restored state's
  bool on_step = false, on_epoch = false;

  double newest = 0;
  at::Tensor newest_on_device = {};
  double newest_weight = 1;
  int64_t newest_batch = 0;  ///< the number of the batch that newest is of
  bool fresh = false;        ///< newest was logged since the last read_step

  double value = 0, weight = 0;
  at::Tensor value_on_device = {};

  std::shared_ptr<LoggedMetric> metric = {};  ///< in place of value, where a metric is logged
  /// States of a metric that was not logged since they were restored, of one rank or of several; its value is `value`.
  std::optional<std::vector<State>> restored_metrics = {};

  void add(double logged, double sample_weight, int64_t batch);
  void add(const at::Tensor& logged, double sample_weight, int64_t batch);
  void add(const std::string& name, const std::shared_ptr<LoggedMetric>& logged, double sample_weight, int64_t batch);
  /// Host syncs where the value is on another device.
  double read_newest() const;
  /// The reduced value; unset where nothing was logged since reset. Host sync, as read_newest.
  std::optional<double> read_epoch(const std::string& name) const;
  void reset_epoch();

 private:
  void mark_newest(double sample_weight, int64_t batch);
};

/// What a metric that was logged as `name` computes. Throws UsageError where it has not one element. Host sync.
double read_value(const std::string& name, const LoggedMetric& metric);

/// Throws UsageError where `value`, logged as `name`, has not one element.
void check_one_element(const std::string& name, const at::Tensor& value);

}  // namespace levin
