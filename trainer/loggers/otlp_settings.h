#pragma once
#include <string>
#include <utility>
#include <vector>

namespace levin {

/// Where metrics are sent by OTLP over HTTP, and with what, as the environment variables of OpenTelemetry say.
///
/// Source: OpenTelemetry specification 1.x, "OpenTelemetry Protocol Exporter" and "SDK environment variables".
struct OtlpSettings {
  std::string url = {};                   ///< with the path: "http://localhost:4318/v1/metrics"
  std::vector<std::string> headers = {};  ///< "Name: value"; they may be secrets, which nothing prints or saves
  double timeout_seconds = 10;            ///< of a request
  std::vector<std::pair<std::string, std::string>> resource = {};  ///< attributes of what is measured
};

/// Reads OTEL_EXPORTER_OTLP_METRICS_ENDPOINT, else OTEL_EXPORTER_OTLP_ENDPOINT with "/v1/metrics", else
/// http://localhost:4318/v1/metrics, unless `endpoint` is given; OTEL_EXPORTER_OTLP_HEADERS with
/// OTEL_EXPORTER_OTLP_METRICS_HEADERS in their place; ..._TIMEOUT in milliseconds; OTEL_RESOURCE_ATTRIBUTES and
/// OTEL_SERVICE_NAME. Throws levin::UsageError, without the value of a header, for what cannot be used.
OtlpSettings read_otlp_settings(const std::string& endpoint);

/// Reads a list "name=value,name=value", whose values are percent-encoded, as W3C Baggage has it. Throws
/// levin::UsageError that begins with `variable` and has no value.
std::vector<std::pair<std::string, std::string>> parse_otlp_list(const std::string& variable, const std::string& text);

}  // namespace levin
