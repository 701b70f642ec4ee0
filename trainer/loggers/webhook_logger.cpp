#include <levin/trainer/loggers/webhook_logger.h>
#include <levin/core/system/error.h>
#include <levin/core/system/hex_digits.h>
#include <levin/core/system/host_name.h>
#include <levin/core/system/json_text.h>
#include <levin/core/system/signals.h>
#include <levin/data/download/digest.h>
#include <levin/data/download/url_host.h>
#include <levin/trainer/loggers/http.h>
#include <levin/trainer/loggers/row_file.h>
#include <levin/trainer/loggers/unix_seconds.h>

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

namespace levin {
namespace {

using Json = nlohmann::ordered_json;
constexpr size_t kMostWaiting = 64;
constexpr int kTries = 3;

WebhookLoggerOptions checked(WebhookLoggerOptions options) {
  schema_of<WebhookLoggerOptions>().check(&options, "WebhookLogger");
  if (options.url.empty()) throw UsageError("WebhookLogger.url: set the URL that messages are sent to");
  check_http_url("WebhookLogger.url", options.url);
  for (const std::string& header : options.headers)
    if (header.find(':') == std::string::npos || header.find_first_of("\r\n") != std::string::npos)
      throw UsageError("WebhookLogger.headers: expected a header such as \"Name: value\", got \"", header, "\"");
  return options;
}

/// Sends a message, and again after a second if the server may take it then. Once a message was lost, the next ones are
/// sent once each, until the server takes one.
void deliver(HttpRequest request, const std::atomic<bool>& stop, std::atomic<bool>& is_down) {
  request.stop = &stop;
  for (int tried = 1;; ++tried) {
    const HttpAnswer answer = send_http(request);
    if (answer.ok()) {
      is_down = false;
      return;
    }
    const int tries = received_signal() == 0 ? kTries : 1;
    if (stop || tried >= tries || is_down || !answer.may_retry()) {
      is_down = true;
      throw Error("a message is lost: ", data::host_of(request.url), ": ", answer.reason());
    }
    for (int nap = 0; nap < 20 && !stop; ++nap) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

Json json_of(const Metrics& metrics) {
  Json json = Json::object();
  for (const auto& [name, value] : metrics) json[name] = json_number(value);
  return json;
}

}  // namespace

WebhookLogger::WebhookLogger(const std::filesystem::path& folder, const WebhookLoggerOptions& options)
    : options_(checked(options)),
      run_(std::filesystem::absolute(folder).lexically_normal().string()),
      tasks_(std::make_unique<BackgroundTasks>(kMostWaiting)) {}

bool WebhookLogger::tells(WebhookEvent event) const {
  return std::find(options_.events.begin(), options_.events.end(), event) != options_.events.end();
}

void WebhookLogger::tell(const std::string& event, const std::string& sentence, const std::string& facts) {
  Json message = {{"event", event},
                  {"text", "levin on " + host_name() + ": " + sentence},
                  {"run", run_},
                  {"host", host_name()},
                  {"time", unix_seconds()}};
  message.update(Json::parse(facts));
  HttpRequest request{.url = options_.url,
                      .headers = options_.headers,
                      .body = json_text(message),
                      .timeout_seconds = options_.timeout_seconds};
  request.headers.push_back("Content-Type: application/json");
  if (!options_.secret.empty())
    request.headers.push_back("X-Levin-Signature: sha256=" +
                              hex_digits(data::hmac_sha256(options_.secret, request.body)));
  const auto& stop = tasks_->stop();
  if (!tasks_->add([request, &stop, down = server_is_down_] { deliver(request, stop, *down); }))
    throw Error("a message is lost: ", kMostWaiting, " wait for the server");
  tasks_->rethrow();
}

void WebhookLogger::log_metrics(const Metrics& values, const LogRow& where) {
  if (values.empty()) return;
  check_metric_names(values);
  for (const auto& [name, value] : values) newest_[name] = value;
  where_ = where;
  const auto found = values.find(options_.monitor);
  if (found != values.end() && !std::isnan(found->second)) {
    const double value = found->second;
    if (!best_ || is_better(value, *best_, options_.mode)) {
      best_ = value;
      untold_best_ = where;
    }
  }
  tell_best_if_due(/*at_once=*/false);
}

void WebhookLogger::tell_best_if_due(bool at_once) {
  const auto now = std::chrono::steady_clock::now();
  if (!untold_best_ || !tells(WebhookEvent::Best) || (!at_once && now - best_told_ < std::chrono::seconds(1))) return;
  const LogRow where = *std::exchange(untold_best_, std::nullopt);
  best_told_ = now;
  tell("best", run_ + " has a new best " + options_.monitor + ": " + number_text(*best_),
       json_text({{"step", where.step},
                  {"epoch", where.epoch},
                  {"monitor", options_.monitor},
                  {"value", json_number(*best_)}}));
}

void WebhookLogger::log_hyperparameters(const std::string& json) {
  if (tells(WebhookEvent::Start))
    tell("start", run_ + " has started", json_text({{"hyperparameters", Json::parse(json)}}));
}

void WebhookLogger::log_exception(const std::string& message) { error_ = message; }

void WebhookLogger::finalize(const std::string& status) {
  tell_best_if_due(/*at_once=*/true);
  const bool failed = status == "failed";
  Json facts = {{"status", status}, {"step", where_.step}, {"epoch", where_.epoch}, {"metrics", json_of(newest_)}};
  if (failed) facts["error"] = error_;
  if (tells(failed ? WebhookEvent::Failure : WebhookEvent::End))
    tell(failed ? "failure" : "end",
         run_ + (failed ? " has failed: " + error_
                        : " has ended (" + status + ") after step " + std::to_string(where_.step)),
         json_text(facts));
  const bool done = tasks_->wait((kTries + 1) * (options_.timeout_seconds + 1));
  tasks_->rethrow();
  if (!done) throw Error("a message is lost: the server is still busy at the end of the run");
}

State WebhookLogger::state_dict() const { return State::dict({{"best", best_ ? State(*best_) : State()}}); }

void WebhookLogger::load_state_dict(const State& state) {
  const State& best = state.at("best");
  best_ = best.is_none() ? std::nullopt : std::optional(best.to_double());
  untold_best_.reset();
}

}  // namespace levin
