#include <levin/trainer/loggers/otlp_logger.h>
#include <levin/core/system/console.h>
#include <levin/core/system/host_name.h>
#include <levin/trainer/loggers/otlp_sender.h>
#include <levin/trainer/loggers/row_file.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace levin {
namespace {

OtlpLoggerOptions checked(OtlpLoggerOptions options) {
  schema_of<OtlpLoggerOptions>().check(&options, "OtlpLogger");
  return options;
}

/// Returns the settings of the environment, with what is known of the run among the resource's attributes.
OtlpSettings settings_of(const OtlpLoggerOptions& options, const std::filesystem::path& folder) {
  OtlpSettings settings = read_otlp_settings(options.endpoint);
  auto& resource = settings.resource;
  const auto set = [&](const std::string& name, const std::string& value, bool replaces) {
    const auto found = std::ranges::find(resource, name, &std::pair<std::string, std::string>::first);
    if (found == resource.end())
      resource.emplace_back(name, value);
    else if (replaces)
      found->second = value;
  };
  set("service.name", options.service_name.empty() ? "levin" : options.service_name, !options.service_name.empty());
  set("host.name", host_name(), false);
  set("levin.run", std::filesystem::absolute(folder).lexically_normal().string(), false);
  return settings;
}

/// Returns a name that an instrument of OpenTelemetry may have: letters, digits and "_.-/".
std::string instrument_name(std::string name) {
  for (char& c : name) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!is_letter && c != '_' && c != '.' && c != '-' && c != '/') c = '_';
  }
  return name;
}

}  // namespace

OtlpLogger::OtlpLogger(const std::filesystem::path& folder, const OtlpLoggerOptions& options)
    : options_(checked(options)),
      tasks_(std::make_unique<BackgroundTasks>(1)),
      sender_(std::make_shared<OtlpSender>(settings_of(options_, folder), options_.export_seconds, tasks_->stop())) {}

void OtlpLogger::log_metrics(const Metrics& values, const LogRow& where) {
  if (values.empty()) return;
  check_metric_names(values);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  OtlpRow row{.unix_nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()};
  const auto add = [&](const std::string& name, double value) {
    row.values.emplace_back(instrument_name(options_.prefix + name), value);
  };
  for (const auto& [name, value] : values) add(name, value);
  add("step", static_cast<double>(where.step));
  add("epoch", static_cast<double>(where.epoch));
  if (sender_->add(std::move(row))) tasks_->add([sender = sender_] { sender->send(); });
  tasks_->rethrow();
  tell_trouble();
}

void OtlpLogger::tell_trouble() {
  const std::string trouble = sender_->trouble();
  if (trouble.empty() || std::exchange(told_trouble_, true)) return;
  console::warn("OtlpLogger: " + trouble + "; the run continues, and what the collector may take later is sent again");
}

void OtlpLogger::finalize(const std::string& /*status*/) {
  sender_->hurry();
  const bool is_done = tasks_->wait(options_.patience_seconds);
  tasks_->rethrow();
  tell_trouble();
  const size_t lost = sender_->lost() + (is_done ? 0 : std::max<size_t>(sender_->waiting(), 1));
  if (lost > 0) console::warn("OtlpLogger: " + std::to_string(lost) + (lost == 1 ? " row is lost" : " rows are lost"));
}

}  // namespace levin
