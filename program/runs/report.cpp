#include <levin/program/runs/report.h>
#include <levin/core/system/json_member.h>
#include <levin/core/system/json_text.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

namespace levin::runs {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostPoints = 2000;          // of a metric
constexpr size_t kMostPointsOfPage = 80'000;  // about 40 bytes each
constexpr size_t kFewestPoints = 20;

/// Returns how many points a metric may have if there are `metrics` of them on a page.
size_t points_for(size_t metrics) {
  return std::clamp(kMostPointsOfPage / std::max<size_t>(metrics, 1), kFewestPoints, kMostPoints);
}

Json json_of(const Series& series) {
  Json values = Json::array();
  for (const double value : series.values) values.push_back(json_number(value));
  Json seconds = Json::array();
  for (const double second : series.seconds) seconds.push_back(std::round(second * 1000) / 1000);
  return {{"steps", series.steps}, {"seconds", std::move(seconds)}, {"values", std::move(values)}};
}

/// Returns the address of a PNG file that holds its bytes; null for none.
Json png_address(const std::string& bytes) {
  if (bytes.empty()) return nullptr;
  constexpr const char* kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text = "data:image/png;base64,";
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t group = 0;
    for (size_t i = at; i < at + 3; ++i) group = group << 8 | (i < bytes.size() ? static_cast<uint8_t>(bytes[i]) : 0U);
    for (int digit = 3; digit >= 0; --digit) text += kDigits[group >> (6 * digit) & 63];
  }
  text.replace(text.size() - (2 - (bytes.size() - 1) % 3), std::string::npos, 2 - (bytes.size() - 1) % 3, '=');
  return text;
}

Json json_of(const Classification& classification) {
  Json json = classification.json;
  json["pictures"] = Json::object();
  for (const auto& [part, bytes] : classification.pictures) json["pictures"][part] = png_address(bytes);
  return json;
}

/// Returns the step in a name like "epoch=2-step=189.ckpt".
std::optional<int64_t> step_of(const std::string& name) {
  const size_t at = name.rfind("step=");
  if (at == std::string::npos) return {};
  int64_t step = 0;
  const char* const begin = name.data() + at + 5;
  if (std::from_chars(begin, name.data() + name.size(), step).ec != std::errc()) return {};
  return step;
}

/// Returns the metrics that were logged at the step of a checkpoint.
Json metrics_of(const RecordedRun& run, const CheckpointFile& file) {
  Json found = Json::object();
  const std::optional<int64_t> step = step_of(file.name);
  if (!step) return found;
  for (const auto& [name, series] : run.metrics) {
    const auto at = std::ranges::find(series.steps, *step);
    if (at != series.steps.end())
      add_member(found, name, json_number(series.values[static_cast<size_t>(at - series.steps.begin())]));
  }
  return found;
}

Json json_of(const RecordedRun& run, size_t most_points) {
  Json json = {{"name", run.folder.lexically_normal().generic_string()},
               {"status", run.shown_status()},
               {"epoch", run.epoch},
               {"step", run.step},
               {"seconds", run.seconds},
               {"best", best_json(run.best())},
               {"problems", run.problems},
               {"config", run.config},
               {"sessions", run.sessions},
               {"classifications", Json::array()},
               {"picture", {{"name", run.sample_picture.first}, {"address", png_address(run.sample_picture.second)}}},
               {"texts", run.sample_texts},
               {"metrics", Json::object()},
               {"checkpoints", Json::array()}};
  for (const auto& [name, series] : run.metrics)
    add_member(json["metrics"], name, json_of(thinned(series, most_points)));
  for (const Classification& one : run.classifications) json["classifications"].push_back(json_of(one));
  for (const CheckpointFile& file : run.checkpoints)
    json["checkpoints"].push_back({{"name", file.name}, {"bytes", file.bytes}, {"metrics", metrics_of(run, file)}});
  return json;
}

/// Returns JSON that no HTML parser takes for a tag.
std::string for_html(const Json& json) {
  std::string text;
  for (const char c : json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace)) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

}  // namespace

Series thinned(const Series& series, size_t most) {
  const size_t count = series.values.size();
  if (count <= most || most < 4) return series;
  Series thin;
  const auto keep = [&](size_t i) {
    thin.steps.push_back(series.steps[i]);
    thin.seconds.push_back(series.seconds[i]);
    thin.values.push_back(series.values[i]);
  };
  const size_t parts = (most - 2) / 2;
  keep(0);
  for (size_t part = 0; part < parts; ++part) {
    const size_t begin = 1 + (count - 2) * part / parts, end = 1 + (count - 2) * (part + 1) / parts;
    // A value that is not finite comes before the others, so that none is lost that is a part's only one.
    const auto below = [&](size_t a, size_t b) {
      const double x = series.values[a], y = series.values[b];
      return std::isnan(x) ? !std::isnan(y) : x < y;
    };
    size_t least = begin, largest = begin;
    for (size_t i = begin; i < end; ++i) {
      if (below(i, least)) least = i;
      if (below(largest, i)) largest = i;
    }
    keep(std::min(least, largest));
    if (least != largest) keep(std::max(least, largest));
  }
  keep(count - 1);
  return thin;
}

std::string report_json(const std::vector<RecordedRun>& runs) {
  Json list = Json::array();
  size_t metrics = 0;
  for (const RecordedRun& run : runs) metrics += run.metrics.size();
  for (const RecordedRun& run : runs) list.push_back(json_of(run, points_for(metrics)));
  return for_html({{"runs", std::move(list)}});
}

std::string report_html(const std::vector<RecordedRun>& runs) {
  const std::string_view text = report_template();
  constexpr std::string_view kData = "LEVIN_REPORT_DATA";
  const size_t at = text.find(kData);
  std::string html(text.substr(0, at));
  html += report_json(runs);
  html += text.substr(at + kData.size());
  return html;
}

}  // namespace levin::runs
