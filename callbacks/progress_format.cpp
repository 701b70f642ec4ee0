#include <levin/callbacks/progress_format.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace levin::progress {
namespace {

constexpr int64_t kShortestBar = 8, kLongestBar = 40;
constexpr const char *kDim = "\x1b[2m", *kGreen = "\x1b[32m", *kCyan = "\x1b[36m", *kReset = "\x1b[0m";

bool starts_code_point(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

int64_t width_of(std::string_view text) { return std::count_if(text.begin(), text.end(), starts_code_point); }

std::string cut(const std::string& text, int64_t columns) {
  size_t end = 0;
  for (int64_t width = 0; end < text.size(); ++end) {
    if (starts_code_point(text[end]) && ++width > columns) break;
  }
  return text.substr(0, end);
}

std::string repeat(const char* text, int64_t count) {
  std::string repeated;
  for (int64_t i = 0; i < count; ++i) repeated += text;
  return repeated;
}

/// Returns the completed fraction, between 0 and 1.
double share(const Line& line) {
  return *line.total <= 0 ? 1.0 : std::clamp(static_cast<double>(line.done) / static_cast<double>(*line.total), 0., 1.);
}

std::string share_text(const Line& line) {
  return fmt::format("{:>3}%", static_cast<int64_t>(std::floor(100 * share(line))));
}

std::string count_text(const Line& line) {
  if (!line.total) return fmt::format("{} {}", line.done, line.done == 1 ? "batch" : "batches");
  const std::string total = std::to_string(*line.total);
  return fmt::format("{:>{}}/{}", line.done, total.size(), total);
}

std::string time_text(const Line& line) {
  if (line.finished) return format_duration(line.seconds);
  if (!line.total) return format_clock(line.seconds);
  if (line.batches_per_second <= 0) return {};
  const int64_t left = std::max<int64_t>(*line.total - line.done, 0);
  return format_clock(std::ceil(static_cast<double>(left) / line.batches_per_second)) + " left";
}

std::string rate_text(const Line& line) {
  return line.batches_per_second > 0 ? format_rate(line.batches_per_second) : std::string();
}

std::string bar_text(const Line& line, int64_t columns, const Style& style) {
  const int64_t filled = static_cast<int64_t>(std::floor(share(line) * static_cast<double>(columns)));
  const std::string full = repeat(style.unicode ? "━" : "#", filled);
  const std::string rest = repeat(style.unicode ? "─" : "-", columns - filled);
  if (!style.colour) return full + rest;
  return (line.finished ? kGreen : kCyan) + full + kReset + kDim + rest + kReset;
}

/// Allocates the columns of one line, first come, first served.
class Columns {
 public:
  explicit Columns(int64_t count) : left_(count) {}
  int64_t left() const { return left_; }
  bool take(int64_t count) {
    if (count > left_) return false;
    left_ -= count;
    return true;
  }
  /// Returns two spaces and `text`, or nothing if that does not fit.
  std::string field(const std::string& text) {
    return !text.empty() && take(2 + width_of(text)) ? "  " + text : std::string();
  }

 private:
  int64_t left_;
};

}  // namespace

std::string format_bar(const Line& line, const Style& style) {
  // The last column stays free: a terminal may wrap as soon as that column is written.
  const int64_t room = std::max<int64_t>(style.columns - 1, 0);
  Columns columns(room);
  if (!columns.take(width_of(line.label))) return cut(line.label, room);
  std::string share_field, bar_field;
  int64_t bar_columns = 0;
  const auto take_bar = [&] {
    if (line.total && columns.take(5)) share_field = " " + share_text(line);
    if (line.total && columns.take(2 + kShortestBar)) bar_columns = kShortestBar;
  };
  if (!line.finished) take_bar();
  const std::string time_field = columns.field(time_text(line));
  std::string metric_fields;
  for (const auto& [name, value] : line.metrics) {
    const std::string number = format_metric(value);
    if (!columns.take(2 + width_of(name) + 1 + width_of(number))) continue;
    metric_fields +=
        style.colour ? fmt::format("  {}{}{} {}", kDim, name, kReset, number) : fmt::format("  {} {}", name, number);
  }
  const std::string rate_field = columns.field(rate_text(line));
  const std::string count_field = columns.field(count_text(line));
  if (line.finished) take_bar();
  if (bar_columns > 0) {
    bar_columns = std::min(kLongestBar, bar_columns + columns.left());
    bar_field = "  " + bar_text(line, bar_columns, style);
  }
  return line.label + bar_field + share_field + count_field + rate_field + time_field + metric_fields;
}

std::string format_plain(const Line& line) {
  std::string text = line.label;
  if (line.total && !line.finished) text += "  " + share_text(line);
  for (const std::string& field : {count_text(line), rate_text(line), time_text(line)}) {
    if (!field.empty()) text += "  " + field;
  }
  for (const auto& [name, value] : line.metrics) text += fmt::format("  {} {}", name, format_metric(value));
  return text;
}

std::string format_clock(double seconds) {
  if (!(seconds < 1e9)) return "--:--";
  const int64_t all = std::max<int64_t>(static_cast<int64_t>(seconds), 0);
  const int64_t days = all / 86400, hours = all / 3600 % 24, minutes = all / 60 % 60;
  if (days) return fmt::format("{} d {:02}:{:02}:{:02}", days, hours, minutes, all % 60);
  if (hours) return fmt::format("{}:{:02}:{:02}", hours, minutes, all % 60);
  return fmt::format("{}:{:02}", minutes, all % 60);
}

std::string format_duration(double seconds) {
  if (seconds < 9.995) return fmt::format("{:.2f} s", std::max(seconds, 0.0));
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  return format_clock(seconds);
}

std::string format_rate(double per_second) {
  if (!(per_second > 0) || !std::isfinite(per_second)) return {};
  const bool slow = per_second < 0.9995;
  double number = slow ? 1 / per_second : per_second;
  const char* unit = slow ? "s/it" : number < 999.5 ? "it/s" : number < 999.5e3 ? "k it/s" : "M it/s";
  const char* space = unit[0] == 'k' || unit[0] == 'M' ? "" : " ";
  if (unit[0] == 'k') number /= 1e3;
  if (unit[0] == 'M') number /= 1e6;
  const int decimals = number < 9.95 ? 1 : 0;
  return fmt::format("{:.{}f}{}{}", number, decimals, space, unit);
}

std::string format_metric(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size < 1e-3 || size >= 1e6) return fmt::format("{:.2e}", value);
  const int decimals = size < 0.01 ? 5 : size < 0.1 ? 4 : size < 10 ? 3 : size < 100 ? 2 : size < 1000 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace levin::progress
