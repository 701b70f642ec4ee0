#include <levin/trainer/loggers/otlp_sender.h>
#include <levin/core/system/json_member.h>
#include <levin/core/system/json_text.h>
#include <levin/data/download/url_host.h>
#include <levin/trainer/loggers/http.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <thread>

namespace levin {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostOtlpRows = 10'000, kMostRowsOfRequest = 500;
constexpr int kTriesAtTheEnd = 3;
constexpr double kFirstPause = 1, kLongestPause = 30;

std::chrono::steady_clock::duration as_duration(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
}

/// The statuses after which the protocol lets a client send again; without an answer it may too.
bool may_send_again(const HttpAnswer& answer) {
  return answer.status == 0 || answer.status == 429 || answer.status == 502 || answer.status == 503 ||
         answer.status == 504;
}

/// Returns what a collector has left out of a request that it took; empty if that is nothing.
std::string left_out(const HttpAnswer& answer) {
  const Json json = Json::parse(answer.body, nullptr, /*allow_exceptions=*/false);
  const Json partial = json.is_object() ? json.value("partialSuccess", Json()) : Json();
  if (!partial.is_object()) return {};
  const Json count = partial.value("rejectedDataPoints", Json(0)), reason = partial.value("errorMessage", Json());
  const std::string number = count.is_string() ? count.get<std::string>() : count.dump();
  const std::string text = reason.is_string() ? reason.get<std::string>() : "";
  if (number == "0" && text.empty()) return {};
  return "the collector leaves out " + number + " values" + (text.empty() ? "" : ": " + text);
}

}  // namespace

std::string otlp_request(const std::vector<std::pair<std::string, std::string>>& resource,
                         const std::vector<OtlpRow>& rows) {
  Json attributes = Json::array();
  for (const auto& [key, value] : resource) attributes.push_back({{"key", key}, {"value", {{"stringValue", value}}}});
  std::map<std::string, Json> points;
  for (const OtlpRow& row : rows)
    for (const auto& [name, value] : row.values) {
      Json& list = points.try_emplace(name, Json::array()).first->second;
      // 64-bit numbers are texts in the JSON of protobuf.
      list.push_back({{"timeUnixNano", std::to_string(row.unix_nanoseconds)}, {"asDouble", json_number(value)}});
    }
  Json metrics = Json::array();
  for (auto& [name, list] : points) metrics.push_back({{"name", name}, {"gauge", {{"dataPoints", std::move(list)}}}});
  const Json scope = {{"scope", {{"name", "levin"}}}, {"metrics", std::move(metrics)}};
  return json_text({{"resourceMetrics", Json::array({{{"resource", {{"attributes", std::move(attributes)}}},
                                                      {"scopeMetrics", Json::array({scope})}}})}});
}

bool OtlpSender::add(OtlpRow row) {
  const std::lock_guard lock(mutex_);
  rows_.push_back(std::move(row));
  if (rows_.size() > kMostOtlpRows) {
    rows_.pop_front();
    ++lost_;
  }
  return !std::exchange(is_sending_, true);
}

size_t OtlpSender::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

size_t OtlpSender::waiting() const {
  const std::lock_guard lock(mutex_);
  return rows_.size() + under_way_;
}

void OtlpSender::note_trouble(const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (trouble_.empty()) trouble_ = data::host_of(settings_.url) + ": " + what;
}

std::string OtlpSender::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

std::vector<OtlpRow> OtlpSender::take_rows() {
  const std::lock_guard lock(mutex_);
  const auto end = rows_.begin() + static_cast<std::ptrdiff_t>(std::min(rows_.size(), kMostRowsOfRequest));
  std::vector<OtlpRow> taken(std::make_move_iterator(rows_.begin()), std::make_move_iterator(end));
  rows_.erase(rows_.begin(), end);
  is_sending_ = !taken.empty();
  under_way_ = taken.size();
  return taken;
}

void OtlpSender::nap_until(Clock::time_point time, bool may_hurry) const {
  constexpr std::chrono::milliseconds kNap{50};
  while (!stop_ && !(may_hurry && hurries_) && Clock::now() < time) std::this_thread::sleep_for(kNap);
}

bool OtlpSender::deliver(const std::vector<OtlpRow>& rows) {
  HttpRequest request{.url = settings_.url,
                      .headers = settings_.headers,
                      .body = otlp_request(settings_.resource, rows),
                      .timeout_seconds = settings_.timeout_seconds,
                      .stop = &stop_};
  request.headers.emplace_back("Content-Type: application/json");
  double pause = kFirstPause;
  for (int tried_at_the_end = 0; !stop_;) {
    const HttpAnswer answer = send_http(request);
    if (answer.ok()) {
      if (const std::string missing = left_out(answer); !missing.empty()) note_trouble(missing);
      return true;
    }
    note_trouble(answer.reason());
    if (!may_send_again(answer)) return false;
    tried_at_the_end += hurries_ ? 1 : 0;
    if (tried_at_the_end >= kTriesAtTheEnd) return false;
    nap_until(Clock::now() + as_duration(hurries_ ? kFirstPause : pause), /*may_hurry=*/tried_at_the_end == 0);
    pause = std::min(2 * pause, kLongestPause);
  }
  return false;
}

void OtlpSender::send() {
  while (!stop_) {
    nap_until(Clock::now() + as_duration(export_seconds_), /*may_hurry=*/true);
    const std::vector<OtlpRow> rows = take_rows();
    if (rows.empty()) return;
    const bool is_delivered = deliver(rows);
    const std::lock_guard lock(mutex_);
    under_way_ = 0;
    if (is_delivered) continue;
    lost_ += rows.size();
    if (!hurries_) continue;
    lost_ += rows_.size();  // the collector is away, and the run has ended
    rows_.clear();
  }
}

}  // namespace levin
