#include <levin/program/sweep/parameter.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <set>

namespace levin::sweep {
namespace {

constexpr int64_t kMostPoints = 10'000;
/// Whole numbers up to here are exact in double.
constexpr double kMostWhole = 9007199254740992;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

template <class Number>
std::optional<Number> number_in(const std::string& text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

/// Returns a text that is read as this number.
std::string shortest(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", value);
  if (number_in<double>(text) == value) return text;
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

double rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return number_in<double>(text).value_or(value);
}

}  // namespace

Parameter Parameter::list(std::string name, const std::string& text, char separator) {
  Parameter made(std::move(name));
  made.values_ = split(text, separator);
  std::set<std::string> known;
  for (const std::string& value : made.values_) {
    if (value.empty()) throw UsageError("--", made.name_, " ", text, ": one of the values is empty");
    if (!known.insert(value).second) throw UsageError("--", made.name_, " ", text, ": ", value, " stands there twice");
  }
  if (made.values_.size() < 2) throw UsageError("--", made.name_, " ", text, ": expected two values or more");
  return made;
}

Parameter Parameter::range(std::string name, const std::string& text, bool is_whole) {
  Parameter made(std::move(name));
  const auto refuse = [&](const std::string& why) { throw UsageError("--", made.name_, " ", text, ": ", why); };
  std::vector<std::string> parts = split(text, ':');
  const std::string expected = "expected LOW:HIGH or LOW:HIGH:log, in a grid with :N, the number of points";
  if (parts.size() < 2) refuse(expected);
  for (const bool is_high : {false, true}) {
    const std::string& part = parts[is_high ? 1 : 0];
    const std::optional<double> number = number_in<double>(part);
    if (!number || !std::isfinite(*number)) refuse(expected);
    const bool fits = *number == std::floor(*number) && std::abs(*number) <= kMostWhole;
    if (is_whole && !fits) refuse("the option takes whole numbers, and " + part + " is none");
    (is_high ? made.high_ : made.low_) = *number;
  }
  parts.erase(parts.begin(), parts.begin() + 2);
  if (!parts.empty() && parts[0] == "log") {
    made.is_log_ = true;
    parts.erase(parts.begin());
  }
  if (!parts.empty()) {
    made.points_ = number_in<int64_t>(parts[0]);
    if (!made.points_ || parts.size() > 1) refuse(expected);
    if (*made.points_ < 2 || *made.points_ > kMostPoints)
      refuse("the number of points is at least 2 and at most " + std::to_string(kMostPoints));
  }
  if (!(made.low_ < made.high_))
    refuse("the range is empty: " + shortest(made.low_) + " is not below " + shortest(made.high_));
  if (made.is_log_ && made.low_ <= 0)
    refuse("a logarithmic range begins above 0, and this one at " + shortest(made.low_));
  made.is_whole_ = is_whole;
  return made;
}

std::vector<std::string> Parameter::bounds() const {
  if (!values_.empty()) return {values_.front(), values_.back()};
  return {at(0), at(1)};
}

std::string Parameter::at(double fraction) const {
  const double value = fraction <= 0   ? low_
                       : fraction >= 1 ? high_
                       : is_log_       ? std::exp(std::lerp(std::log(low_), std::log(high_), fraction))
                                       : std::lerp(low_, high_, fraction);
  if (is_whole_) return std::to_string(static_cast<int64_t>(std::round(value)));
  return shortest(fraction <= 0 || fraction >= 1 ? value : std::clamp(rounded(value), low_, high_));
}

std::vector<std::string> Parameter::points() const {
  if (!values_.empty()) return values_;
  const bool takes_all = is_whole_ && !is_log_ && !points_;
  if (!points_ && (!takes_all || high_ - low_ >= kMostPoints))
    throw UsageError("--", name_, ": a grid needs the number of points: ", shortest(low_), ":", shortest(high_),
                     is_log_ ? ":log" : "", ":5; or choose --method random");
  const int64_t count = points_ ? *points_ : static_cast<int64_t>(high_ - low_) + 1;
  std::vector<std::string> all;
  for (int64_t i = 0; i < count; ++i) {
    std::string point = at(static_cast<double>(i) / static_cast<double>(count - 1));
    if (all.empty() || all.back() != point) all.push_back(std::move(point));  // whole numbers may fall together
  }
  return all;
}

std::optional<double> Parameter::count() const {
  if (!values_.empty()) return static_cast<double>(values_.size());
  if (is_whole_) return high_ - low_ + 1;
  return {};
}

std::string Parameter::draw(double uniform) const {
  if (!values_.empty()) return values_[static_cast<size_t>(uniform * static_cast<double>(values_.size()))];
  if (!is_whole_) return at(uniform);
  // Each whole number stands for the numbers up to the next one.
  const double value =
      is_log_ ? std::exp(std::lerp(std::log(low_), std::log(high_ + 1), uniform)) : std::lerp(low_, high_ + 1, uniform);
  return std::to_string(static_cast<int64_t>(std::clamp(std::floor(value), low_, high_)));
}

}  // namespace levin::sweep
