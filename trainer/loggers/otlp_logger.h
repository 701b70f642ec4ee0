#pragma once
#include <levin/core/options/option.h>
#include <levin/trainer/loggers/background_tasks.h>
#include <levin/trainer/loggers/logger.h>

#include <filesystem>
#include <memory>
#include <string>

namespace levin {

class OtlpSender;

struct OtlpLoggerOptions {
  std::string endpoint = LEVIN_OPTION(
      endpoint, "", "The URL, with its path, such as http://127.0.0.1:4318/v1/metrics; empty: OTEL_EXPORTER_OTLP_*");
  std::string service_name =
      LEVIN_OPTION(service_name, "", "The attribute service.name; empty: OTEL_SERVICE_NAME, else levin");
  std::string prefix = LEVIN_OPTION(prefix, "levin.", "Text before the name of each metric");
  double export_seconds = LEVIN_OPTION(export_seconds, 5, "Seconds between two requests", {.min = 0, .max = 3600});
  double patience_seconds = LEVIN_OPTION(patience_seconds, 10, "Seconds that the end of a fit waits for what is left",
                                         {.min = 0, .max = 3600});
};

/// Sends metrics to a collector of OpenTelemetry, by OTLP over HTTP in its JSON encoding. A metric is a gauge; the step
/// and the epoch are the gauges `step` and `epoch` with the same time.
///
/// The environment variables of OpenTelemetry's specification name the endpoint, headers (credentials among them),
/// timeout and resource (OtlpSettings). Headers are printed and saved nowhere.
///
/// A thread sends what was logged; training does not wait. What a collector does not take because it is away or busy is
/// sent again, later and later, up to 30 s apart; 10,000 rows may wait, and then the oldest are dropped. The end of a
/// fit waits for what is left. Anything lost is a warning. A resumed run sends the rows behind its checkpoint again.
class OtlpLogger final : public Logger {
 public:
  using Options = OtlpLoggerOptions;

  /// Throws UsageError for bad options and environment variables.
  OtlpLogger(const std::filesystem::path& folder, const OtlpLoggerOptions& options);

  std::string name() const override { return "OtlpLogger"; }
  void log_metrics(const Metrics& values, const LogRow& where) override;
  void finalize(const std::string& status) override;

 private:
  void tell_trouble();

  OtlpLoggerOptions options_;
  std::unique_ptr<BackgroundTasks> tasks_;
  std::shared_ptr<OtlpSender> sender_;
  bool told_trouble_ = false;
};

}  // namespace levin
