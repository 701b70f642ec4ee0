#include <levin/trainer/loggers/otlp_settings.h>
#include <levin/core/system/error.h>
#include <levin/data/remote/remote_url.h>
#include <levin/trainer/loggers/http.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace levin {
namespace {

constexpr const char* kDefaultOtlpEndpoint = "http://localhost:4318";

/// A variable that counts for metrics alone if it is set, else for all signals. Its name is for errors.
struct OtlpVariable {
  std::string name = {}, text = {};
};

std::string text_of_variable(const std::string& name) {
  const char* const text = std::getenv(name.c_str());
  return text == nullptr ? "" : text;  // one that is empty counts as unset
}

OtlpVariable otlp_variable(const std::string& what) {
  const std::string own = "OTEL_EXPORTER_OTLP_METRICS_" + what;
  if (const std::string text = text_of_variable(own); !text.empty()) return {own, text};
  const std::string common = "OTEL_EXPORTER_OTLP_" + what;
  return {common, text_of_variable(common)};
}

std::string_view otlp_trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::string otlp_url(const std::string& endpoint) {
  const OtlpVariable given =
      endpoint.empty() ? otlp_variable("ENDPOINT") : OtlpVariable{"OtlpLogger.endpoint", endpoint};
  std::string url = given.text.empty() ? kDefaultOtlpEndpoint : given.text;
  check_http_url(given.name, url);
  // The endpoint of metrics alone is used as it is.
  if (given.name != "OTEL_EXPORTER_OTLP_ENDPOINT") return url;
  if (url.ends_with('/')) url.pop_back();
  return url + "/v1/metrics";
}

double otlp_timeout() {
  const OtlpVariable given = otlp_variable("TIMEOUT");
  if (given.text.empty()) return OtlpSettings().timeout_seconds;
  int64_t milliseconds = 0;
  const char* const end = given.text.data() + given.text.size();
  const auto read = std::from_chars(given.text.data(), end, milliseconds);
  if (read.ec != std::errc() || read.ptr != end || milliseconds <= 0 || milliseconds > 3'600'000)
    throw UsageError(given.name, ": expected milliseconds from 1 to 3600000, got \"", given.text, "\"");
  return static_cast<double>(milliseconds) / 1000;
}

bool is_header_name(std::string_view name) {
  return std::ranges::all_of(name, [](unsigned char c) { return c > ' ' && c < 0x7F && c != ':'; });
}

std::vector<std::string> otlp_headers() {
  const OtlpVariable given = otlp_variable("HEADERS");
  std::vector<std::string> headers;
  for (const auto& [name, value] : parse_otlp_list(given.name, given.text)) {
    if (!is_header_name(name) || value.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos)
      throw UsageError(given.name, ": the header ", headers.size() + 1,
                       " is none that HTTP can send; write name=value, with \",\" and \"%\" in values as %2C and %25");
    headers.push_back(name + ": " + value);
  }
  return headers;
}

std::vector<std::pair<std::string, std::string>> otlp_resource() {
  constexpr const char* kAttributes = "OTEL_RESOURCE_ATTRIBUTES";
  auto attributes = parse_otlp_list(kAttributes, text_of_variable(kAttributes));
  if (const std::string service = text_of_variable("OTEL_SERVICE_NAME"); !service.empty()) {
    std::erase_if(attributes, [](const auto& one) { return one.first == "service.name"; });
    attributes.emplace_back("service.name", service);
  }
  return attributes;
}

/// A port of gRPC does not take HTTP/1.1.
void refuse_grpc() {
  const OtlpVariable protocol = otlp_variable("PROTOCOL");
  if (protocol.text == "grpc")
    throw UsageError(protocol.name,
                     "=grpc: OtlpLogger sends by HTTP alone (http/json); set the option endpoint to the ",
                     "address for HTTP, such as http://localhost:4318/v1/metrics");
}

}  // namespace

std::vector<std::pair<std::string, std::string>> parse_otlp_list(const std::string& variable, const std::string& text) {
  std::vector<std::pair<std::string, std::string>> list;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view one = otlp_trimmed(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    if (one.empty()) continue;
    const size_t equals = one.find('=');
    const std::string_view name = otlp_trimmed(one.substr(0, equals));
    if (equals == std::string_view::npos || name.empty())
      throw UsageError(variable, ": entry ", list.size() + 1, " is no name=value; separate entries by commas");
    list.emplace_back(data::percent_decoded(name), data::percent_decoded(otlp_trimmed(one.substr(equals + 1))));
  }
  return list;
}

OtlpSettings read_otlp_settings(const std::string& endpoint) {
  if (endpoint.empty()) refuse_grpc();
  return {.url = otlp_url(endpoint),
          .headers = otlp_headers(),
          .timeout_seconds = otlp_timeout(),
          .resource = otlp_resource()};
}

}  // namespace levin
