#pragma once
#include <levin/trainer/loggers/otlp_settings.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace levin {

/// Values that were logged at one time.
struct OtlpRow {
  int64_t unix_nanoseconds = 0;
  std::vector<std::pair<std::string, double>> values = {};
};

/// Returns the JSON of an ExportMetricsServiceRequest: each metric a gauge with a point for each of its values.
std::string otlp_request(const std::vector<std::pair<std::string, std::string>>& resource,
                         const std::vector<OtlpRow>& rows);

/// Rows that wait for a collector, and how they are sent. `send` is for one thread, the others for any.
class OtlpSender {
 public:
  OtlpSender(OtlpSettings settings, double export_seconds, const std::atomic<bool>& stop)
      : settings_(std::move(settings)), export_seconds_(export_seconds), stop_(stop) {}

  /// Returns whether `send` must be called for it; otherwise an earlier call takes it along.
  bool add(OtlpRow row);
  /// Sends all rows, a request in `export_seconds`, until none waits, `stop` becomes true, or, after `hurry`, a request
  /// has failed three times.
  void send();
  /// The run ends: what waits is sent at once.
  void hurry() { hurries_ = true; }
  /// Returns how many rows were given up, and how many wait or are in a request without an answer.
  size_t lost() const;
  size_t waiting() const;
  /// Returns what was wrong first, without headers and passwords; empty if nothing was.
  std::string trouble() const;

 private:
  using Clock = std::chrono::steady_clock;

  std::vector<OtlpRow> take_rows();
  bool deliver(const std::vector<OtlpRow>& rows);
  void nap_until(Clock::time_point time, bool may_hurry) const;
  void note_trouble(const std::string& what);

  const OtlpSettings settings_;
  const double export_seconds_;
  const std::atomic<bool>& stop_;
  std::atomic<bool> hurries_ = false;
  mutable std::mutex mutex_ = {};
  std::deque<OtlpRow> rows_ = {};
  size_t under_way_ = 0;  ///< rows of the request that is being made
  bool is_sending_ = false;
  size_t lost_ = 0;
  std::string trouble_ = {};
};

}  // namespace levin
