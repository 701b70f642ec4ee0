#include <levin/trainer/loggers/mlflow_sender.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace levin {
namespace {

namespace fs = std::filesystem;
// Most things of one log-batch.
constexpr size_t kMostMetrics = 1000, kMostParameters = 100;

MLflowServer::Json key_value(const std::string& key, const MLflowServer::Json& value) {
  return {{"key", key}, {"value", value}};
}

}  // namespace

std::string without_password(const std::string& url) {
  const size_t begin = url.find("//");
  if (begin == std::string::npos) return url;
  const size_t slash = std::min(url.find('/', begin + 2), url.size());
  const size_t at = url.rfind('@', slash);
  if (at == std::string::npos || at < begin) return url;
  return url.substr(0, begin + 2) + url.substr(at + 1);
}

MLflowSender::MLflowSender(const fs::path& folder, std::string tracking_uri, double timeout_seconds,
                           const std::atomic<bool>& stop, double patience_seconds)
    : tracking_uri_(std::move(tracking_uri)),
      timeout_seconds_(timeout_seconds),
      stop_(stop),
      server_(tracking_uri_, timeout_seconds, stop),
      queue_(folder, patience_seconds) {}

std::string MLflowSender::text_fact(const char* name) const {
  const Json fact = queue_.fact(name);
  return fact.is_string() ? fact.get<std::string>() : "";
}

void MLflowSender::send() {
  if (!hurries_.exchange(false) && Clock::now() < next_) return;
  bool done = false;
  try {
    done = send_all();
  } catch (const std::exception& error) {
    done = away(error.what());
  }
  is_away_ = !done && !stop_;
  pause_seconds_ = done ? 1 : std::min(60.0, 2 * pause_seconds_);
  next_ = Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(1000 * pause_seconds_));
}

void MLflowSender::send_leftovers() {
  if (is_away_ || stop_ || std::exchange(looked_beside_, true)) return;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(queue_.folder().parent_path(), error)) {
    if (stop_ || fs::equivalent(entry.path(), queue_.folder(), error)) continue;
    try {
      if (!MLflowQueue::waits_in(entry.path())) continue;
      MLflowSender other(entry.path(), tracking_uri_, timeout_seconds_, stop_, 0);
      if (other.text_fact("tracking_uri") != text_fact("tracking_uri")) continue;
      other.send();
      if (!other.is_away())
        console::info("MLflowLogger: sent what waited in " + entry.path().string() + " from an earlier run");
    } catch (const std::exception&) {
      // Its own run says what is wrong with it.
    }
  }
}

bool MLflowSender::send_all() {
  if (queue_.empty()) return true;
  if (!make_run()) return false;
  while (!stop_) {
    const MLflowQueue::Part part = queue_.next();
    if (part.things.empty()) return true;
    for (size_t i = 0; i < part.things.size();) {
      if (stop_) return false;
      const size_t next = part.things[i].contains("row") ? send_rows(part, i) : i + send_thing(part.things[i]);
      if (next == i) return false;
      std::optional<int64_t> step;
      int64_t rows = 0;
      for (size_t j = i; j < next; ++j) {
        const Json& thing = part.things[j];
        if (!thing.contains("row")) continue;
        rows = thing["row"].get<int64_t>() + 1;
        step = std::max(step.value_or(0), thing.at("step").get<int64_t>());
      }
      if (!queue_.sent(part, next, rows, step)) break;
      i = next;
    }
  }
  return false;
}

bool MLflowSender::away(const std::string& reason) {
  if (stop_ || std::exchange(told_away_, true)) return false;
  console::print_warning("MLflowLogger: " + without_password(tracking_uri_) + ": " + reason +
                         "; what is logged waits in " + queue_.file().string() +
                         " and is sent when the server is back");
  return false;
}

bool MLflowSender::settled(const MLflowServer::Answer& answer, const std::string& what) {
  if (answer.done()) return true;
  if (!answer.refused()) return away(answer.reason);
  if (!std::exchange(told_refused_, true))
    console::print_warning("MLflowLogger: the server refuses " + what + ": " + answer.reason +
                           "; it is left out, and so is what it refuses from now on");
  return true;
}

bool MLflowSender::make_run() {
  if (!text_fact("run_id").empty()) return true;
  if (!find_experiment()) return false;
  // The answer to an earlier try may have been lost.
  if (queue_.fact("tried") == true && find_created_run()) return true;
  return create_run();
}

bool MLflowSender::find_experiment() {
  if (!text_fact("experiment_id").empty()) return true;
  const std::string name = text_fact("experiment_name");
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto found = server_.get("experiments/get-by-name", "experiment_name=" + url_encoded(name));
    if (found.done()) {
      const Json& experiment = found.body.value("experiment", Json::object());
      if (!experiment.is_object() || !experiment.contains("experiment_id"))
        return away("the server answers what is no MLflow");
      if (experiment.value("lifecycle_stage", "") == "deleted")
        return away("the experiment '" + name + "' is deleted; restore it or choose another experiment_name");
      queue_.set_facts({{"experiment_id", experiment.at("experiment_id")}});
      return true;
    }
    if (!found.refused() || found.code != "RESOURCE_DOES_NOT_EXIST") return away(found.reason);
    Json body = {{"name", name}};
    if (!text_fact("artifact_location").empty()) body["artifact_location"] = text_fact("artifact_location");
    const auto made = server_.post("experiments/create", body);
    if (made.done() && made.body.contains("experiment_id")) {
      queue_.set_facts({{"experiment_id", made.body.at("experiment_id")}});
      return true;
    }
    // Another run may have made it meanwhile.
    if (!made.refused() || made.code != "RESOURCE_ALREADY_EXISTS") return away(made.reason);
  }
  return away("the experiment '" + name + "' can neither be found nor be made");
}

bool MLflowSender::find_created_run() {
  const auto found = server_.post("runs/search", {{"experiment_ids", Json::array({text_fact("experiment_id")})},
                                                  {"filter", "tags.`levin.id` = '" + text_fact("id") + "'"},
                                                  {"max_results", 1}});
  if (!found.done() || !found.body.contains("runs") || found.body["runs"].empty()) return false;
  queue_.set_facts({{"run_id", found.body["runs"][0].at("info").at("run_id")}});
  return true;
}

bool MLflowSender::create_run() {
  Json tags = Json::array();
  const Json own_tags = queue_.fact("tags");
  for (const auto& [name, text] : own_tags.items()) tags.push_back(key_value(name, text));
  tags.push_back(key_value("levin.id", text_fact("id")));
  Json body = {
      {"experiment_id", text_fact("experiment_id")}, {"start_time", queue_.fact("start_time")}, {"tags", tags}};
  if (!text_fact("run_name").empty()) body["run_name"] = text_fact("run_name");
  queue_.set_facts({{"tried", true}});
  const auto made = server_.post("runs/create", body);
  if (!made.done()) return away(made.reason);
  if (!made.body.contains("run") || !made.body["run"].contains("info"))
    return away("the server answers what is no MLflow");
  queue_.set_facts({{"run_id", made.body["run"]["info"].at("run_id")}});
  return true;
}

size_t MLflowSender::send_rows(const MLflowQueue::Part& part, size_t from) {
  Json metrics = Json::array();
  size_t next = from;
  for (; next < part.things.size() && part.things[next].contains("row"); ++next) {
    const Json& row = part.things[next];
    if (next > from && metrics.size() + row.at("values").size() > kMostMetrics) break;
    for (const auto& [name, value] : row.at("values").items()) {
      Json metric = key_value(name, value);
      metric["timestamp"] = row.at("time");
      metric["step"] = row.at("step");
      metrics.push_back(std::move(metric));
    }
  }
  // A row alone may have more metrics than one request.
  for (size_t begin = 0; begin < metrics.size(); begin += kMostMetrics) {
    const auto end = metrics.begin() + static_cast<std::ptrdiff_t>(std::min(metrics.size(), begin + kMostMetrics));
    const Json some(metrics.begin() + static_cast<std::ptrdiff_t>(begin), end);
    const auto answer = server_.post("runs/log-batch", {{"run_id", text_fact("run_id")}, {"metrics", some}});
    if (!settled(answer, "metrics")) return from;
  }
  return next;
}

bool MLflowSender::send_thing(const Json& thing) {
  const std::string run_id = text_fact("run_id");
  if (thing.contains("parameters")) return send_parameters(thing["parameters"]);
  if (thing.contains("tag"))
    return settled(
        server_.post("runs/set-tag", {{"run_id", run_id}, {"key", thing["tag"]}, {"value", thing.at("text")}}),
        "a tag");
  if (thing.contains("status")) {
    Json body = {{"run_id", run_id}, {"status", thing["status"]}};
    if (thing.contains("end_time")) body["end_time"] = thing["end_time"];
    return settled(server_.post("runs/update", body), "the run's status");
  }
  if (thing.contains("artifact")) return send_artifact(thing);
  return true;
}

bool MLflowSender::send_parameters(const Json& values) {
  std::vector<Json> all;
  for (const auto& [name, text] : values.items()) all.push_back(key_value(name, text));
  for (size_t begin = 0; begin < all.size(); begin += kMostParameters) {
    const size_t end = std::min(all.size(), begin + kMostParameters);
    const Json some(std::vector<Json>(all.begin() + static_cast<std::ptrdiff_t>(begin),
                                      all.begin() + static_cast<std::ptrdiff_t>(end)));
    const auto answer = server_.post("runs/log-batch", {{"run_id", text_fact("run_id")}, {"params", some}});
    if (answer.done()) continue;
    if (!answer.refused()) return away(answer.reason);
    // The server refuses all if it refuses one: a parameter of a resumed run that has another value now.
    for (size_t i = begin; i < end; ++i) {
      Json one = all[i];
      one["run_id"] = text_fact("run_id");
      if (!settled(server_.post("runs/log-parameter", one), "the parameter " + one["key"].get<std::string>()))
        return false;
    }
  }
  return true;
}

bool MLflowSender::send_artifact(const Json& thing) {
  if (text_fact("artifact_uri").empty()) {
    const auto run = server_.get("runs/get", "run_id=" + url_encoded(text_fact("run_id")));
    if (run.refused()) return settled(run, "artifacts");
    if (!run.done()) return away(run.reason);
    const Json info = run.body.value("run", Json::object()).value("info", Json::object());
    if (!info.contains("artifact_uri")) return away("the server answers what is no MLflow");
    queue_.set_facts({{"artifact_uri", info["artifact_uri"]}});
  }
  fs::path file;
  if (thing.contains("file")) {
    file = queue_.folder() / thing["file"].get<std::string>();  // an absolute path stays what it is
    std::error_code error;
    if (!fs::is_regular_file(file, error))
      return settled({.kind = MLflowServer::Answer::Kind::Refused, .reason = "it is no longer there"},
                     "the artifact " + file.string());
  }
  const std::string path = thing["artifact"].get<std::string>();
  return settled(server_.put_artifact(text_fact("artifact_uri"), path, thing.value("text", ""), file),
                 "the artifact " + path);
}

}  // namespace levin
