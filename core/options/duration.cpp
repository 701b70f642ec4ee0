#include <levin/core/options/duration.h>
#include <levin/core/options/value_type.h>
#include <levin/core/system/error.h>

#include <cmath>
#include <cstdio>
#include <utility>

namespace levin {
namespace {

constexpr const char* kDurationExpected = "\"DD:HH:MM:SS\" or a number of seconds";
constexpr const char* kDurationSchema =
    R"({"type": ["number", "string", "object"], "minimum": 0, "pattern": "^[0-9]{1,2}(:[0-9]{1,2}){3}$",
        "additionalProperties": false, "minProperties": 1,
        "properties": {"weeks": {"type": "number"}, "days": {"type": "number"}, "hours": {"type": "number"},
                       "minutes": {"type": "number"}, "seconds": {"type": "number"}}})";
constexpr std::pair<const char*, double> kUnits[] = {
    {"weeks", 604800}, {"days", 86400}, {"hours", 3600}, {"minutes", 60}, {"seconds", 1}};

/// Returns nothing if the object has other keys or values than a timedelta's.
std::optional<Duration> parse_units(const Json& json) {
  double seconds = 0;
  size_t known = 0;
  for (const auto& [unit, size] : kUnits) {
    if (!json.contains(unit)) continue;
    if (!json[unit].is_number()) return {};
    seconds += json[unit].get<double>() * size;
    ++known;
  }
  if (known == 0 || known != json.size()) return {};
  return Duration(seconds);
}

std::optional<Duration> parse_duration(const Json& json) try {
  if (json.is_number()) return Duration(json.get<double>());
  if (json.is_string()) return Duration(json.get<std::string>());
  if (json.is_object()) return parse_units(json);
  return {};
} catch (const UsageError&) {
  return {};
}

Json write_duration(const Duration& duration) {
  const bool whole = duration.seconds() == std::floor(duration.seconds()) && duration.seconds() < 8e6;
  return whole ? Json(duration.to_text()) : Json(duration.seconds());
}

}  // namespace

Duration::Duration(double seconds) : seconds_(seconds) {
  if (!(seconds >= 0) || std::isinf(seconds)) throw_unexpected("duration", kDurationExpected, seconds);
}

Duration::Duration(const std::string& text) {
  unsigned days = 0, hours = 0, minutes = 0, seconds = 0;
  int read = 0;
  if (std::sscanf(text.c_str(), "%2u:%2u:%2u:%2u%n", &days, &hours, &minutes, &seconds, &read) != 4 ||
      static_cast<size_t>(read) != text.size())
    throw_unexpected("duration", kDurationExpected, text);
  seconds_ = days * 86400.0 + hours * 3600.0 + minutes * 60.0 + seconds;
}

std::string Duration::to_text() const {
  const auto total = static_cast<int64_t>(seconds_);
  char text[64];
  std::snprintf(text, sizeof(text), "%02d:%02d:%02d:%02d", static_cast<int>(total / 86400),
                static_cast<int>(total / 3600 % 24), static_cast<int>(total / 60 % 60), static_cast<int>(total % 60));
  return text;
}

const OptionType& OptionTraits<Duration>::type() {
  static const ValueType<Duration> type(kDurationExpected, parse_duration, write_duration, json_or_text,
                                        /*a_switch=*/false, kDurationSchema);
  return type;
}

}  // namespace levin
