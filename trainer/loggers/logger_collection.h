#pragma once
#include <levin/trainer/loggers/logger.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace levin {

class Profiler;

/// The loggers of a run, each of which may fail: the first failure of a logger is printed as a warning, and the run
/// goes on. The logger is called again at the next log point: a disk may have room by then.
class LoggerCollection {
 public:
  LoggerCollection() = default;
  /// `profiler`, if any, measures log_metrics of each logger.
  explicit LoggerCollection(std::vector<std::shared_ptr<Logger>> loggers, Profiler* profiler = nullptr);

  bool empty() const { return entries_.empty(); }
  /// Throws UsageError for a metric with the name of a fixed column (`step`, `epoch`, `wall_seconds`).
  void log_metrics(const Metrics& values, const LogRow& where);
  void log_hyperparameters(const std::string& json);
  void log_graph(LightningModule& module);
  /// Throws UsageError for a tensor that is no image.
  void log_image(const std::string& name, const at::Tensor& image, const LogRow& where);
  /// Throws UsageError for a tensor that is undefined or complex.
  void log_histogram(const std::string& name, const at::Tensor& values, const LogRow& where);
  void log_text(const std::string& name, const std::string& text, const LogRow& where);
  void log_artifact(const std::filesystem::path& file, const std::string& folder);
  void log_exception(const std::string& message);
  void finalize(const std::string& status);

  /// Returns a list with the class and the state of each logger; none as the state of one that fails.
  State state_dict() const;
  /// Gives each logger the state of its class; of several loggers of one class the first gets the first.
  void load_state_dict(const State& states);

 private:
  struct Entry {
    std::shared_ptr<Logger> logger;
    mutable bool has_failed = false;
  };
  static void guarded(const Entry& entry, const std::function<void(Logger&)>& call);
  void each(const std::function<void(Logger&)>& call) const;

  std::vector<Entry> entries_ = {};
  Profiler* profiler_ = nullptr;
};

}  // namespace levin
