#pragma once
#include <levin/core/options/choice.h>
#include <levin/core/options/metric_mode.h>
#include <levin/core/options/option.h>
#include <levin/trainer/loggers/background_tasks.h>
#include <levin/trainer/loggers/logger.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace levin {

/// What a webhook is told of.
enum class WebhookEvent : uint8_t { Start, End, Failure, Best };
template <>
inline constexpr auto kWords<WebhookEvent> = words_of<WebhookEvent>({{"start", WebhookEvent::Start},
                                                                     {"end", WebhookEvent::End},
                                                                     {"failure", WebhookEvent::Failure},
                                                                     {"best", WebhookEvent::Best}});

struct WebhookLoggerOptions {
  std::string url =
      LEVIN_OPTION(url, "", "Where to send messages, http or https; ${env:NAME} keeps it out of config.json");
  std::vector<Choice<WebhookEvent>> events = LEVIN_OPTION(events, {"start", "end", "failure", "best"}, "What to tell");
  std::string monitor = LEVIN_OPTION(monitor, "", "The metric whose best value is told; empty: none");
  Choice<MetricMode> mode = LEVIN_OPTION(mode, MetricMode::Min, "min: lower is better; max: higher is better");
  std::vector<std::string> headers = LEVIN_OPTION(headers, {}, "Headers of the requests, each \"Name: value\"");
  std::string secret =
      LEVIN_OPTION(secret, "", "Signs messages: X-Levin-Signature is sha256= and the HMAC of the body; empty: none");
  double timeout_seconds =
      LEVIN_OPTION(timeout_seconds, 10, "Seconds that a request may take", {.max = 3600, .exclusive_min = 0});
};

/// Tells a server of a run's start, end, failure and new best value: POST with a JSON object that has `event`, `text`
/// (a sentence, which chat programs show), `run` (the folder), `host`, `time`, and by event `step`, `epoch`, `metrics`,
/// `status`, `error`, `monitor`, `value`.
///
/// A thread sends the messages; training does not wait. A message that the server does not take is sent twice more; the
/// run says once that it was lost. Between two messages of a new best at least a second passes, and the newest counts.
class WebhookLogger final : public Logger {
 public:
  using Options = WebhookLoggerOptions;

  /// Throws UsageError for bad options.
  WebhookLogger(const std::filesystem::path& folder, const WebhookLoggerOptions& options);

  std::string name() const override { return "WebhookLogger"; }
  void log_metrics(const Metrics& values, const LogRow& where) override;
  /// Tells the start.
  void log_hyperparameters(const std::string& json) override;
  void log_exception(const std::string& message) override;
  /// Waits for messages that are being sent, for four times timeout_seconds and a second at most.
  void finalize(const std::string& status) override;
  State state_dict() const override;
  void load_state_dict(const State& state) override;

 private:
  bool tells(WebhookEvent event) const;
  /// `facts`: JSON, what the message has besides what every message has.
  void tell(const std::string& event, const std::string& sentence, const std::string& facts);
  void tell_best_if_due(bool at_once);

  WebhookLoggerOptions options_;
  std::string run_;
  std::optional<double> best_ = {};
  std::optional<LogRow> untold_best_ = {};  ///< where the best value was logged, if it was not told yet
  std::chrono::steady_clock::time_point best_told_ = {};
  Metrics newest_ = {};
  LogRow where_ = {};
  std::string error_ = {};
  std::shared_ptr<std::atomic<bool>> server_is_down_ = std::make_shared<std::atomic<bool>>(false);
  std::unique_ptr<BackgroundTasks> tasks_;
};

}  // namespace levin
