#pragma once
#include <c10/core/Device.h>
#include <levin/trainer/core/log_sink.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace levin {

/// What a module logs during one step, kept for later. `merge_logs` sends what all replicas of a module have logged to
/// the run's sink.
class StepLog final : public LogSink {
 public:
  struct Entry {
    std::string name = {};
    double number = 0;
    at::Tensor tensor = {};  ///< in place of `number`, detached
    std::shared_ptr<LoggedMetric> metric = {};
    LogOptions options = {};
    double samples = 0;  ///< the weight in means
  };

  /// Forgets what was logged; `samples`: of the coming batch, or the replica's part of it. `reads_cpu`: values
  /// on the CPU are kept as numbers.
  void begin(int64_t samples, bool reads_cpu = true);
  void log(const std::string& name, const at::Tensor& value, const LogOptions& options) override;
  void log(const std::string& name, double value, const LogOptions& options) override;
  void log(const std::string& name, const std::shared_ptr<LoggedMetric>& metric, const LogOptions& options) override;
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  Entry& add(const std::string& name, const LogOptions& options);

  int64_t samples_ = 0;
  bool reads_cpu_ = true;
  std::vector<Entry> entries_ = {};
};

/// Logs what the replicas have logged in one step as one device would have logged it: means weighted by samples, sums,
/// least and greatest values; metrics count on in that of the first replica, and the others are reset. Values of
/// devices meet on `device`; nothing is read on the host.
/// Throws levin::UsageError for a metric that the first replica did not log. What a metric logs with on_step is the
/// value of the first replica's part.
void merge_logs(const std::vector<StepLog>& logs, c10::Device device, LogSink& sink);

}  // namespace levin
