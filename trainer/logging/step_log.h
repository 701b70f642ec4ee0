#pragma once
#include <c10/core/Device.h>
#include <levin/core/run/log_sink.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace levin {

/// Keeps what a module logs during one step. `merge_logs` sends the logs of all replicas to the run's sink.
class StepLog final : public LogSink {
 public:
  struct Entry {
    std::string name = {};
    double number = 0;
    at::Tensor tensor = {};  ///< the value instead of `number`, detached
    std::shared_ptr<LoggedMetric> metric = {};
    LogOptions options = {};
    double samples = 0;  ///< the value's weight in means
  };

  /// Clears the log. `samples` is the size of the coming batch, or of the replica's part of it. `reads_cpu`: values on
  /// the CPU are stored as numbers.
  void begin(int64_t samples, bool reads_cpu = true);
  void log(const std::string& name, const at::Tensor& value, const LogOptions& options) override;
  void log(const std::string& name, double value, const LogOptions& options) override;
  void log(const std::string& name, const std::shared_ptr<LoggedMetric>& metric, const LogOptions& options) override;
  /// Sets the weight of the values without a batch_size to what the replica's training_step returned with its loss.
  void set_weight(double weight);
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  Entry& add(const std::string& name, const LogOptions& options);

  int64_t samples_ = 0;
  bool reads_cpu_ = true;
  std::vector<Entry> entries_ = {};
};

/// Merges the logs of the replicas' steps into what one device would have logged: means weighted by samples, sums,
/// minima and maxima. The replicas' metrics are merged into the first replica's and then reset. Values are reduced on
/// `device`, without a host sync. Throws levin::UsageError if a replica did not log a metric that another logged. With
/// on_step a metric shows the value of the first replica's part.
void merge_logs(const std::vector<StepLog>& logs, c10::Device device, LogSink& sink);

}  // namespace levin
