#pragma once
#include <levin/core/options/option_type.h>

#include <concepts>
#include <string>

namespace levin {

/// A length of time: "DD:HH:MM:SS", a number of seconds, or (in JSON only) {"hours": 2, "minutes": 30}.
/// Throws UsageError for anything else.
class Duration {
 public:
  Duration() = default;
  Duration(double seconds);
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Duration(T seconds) : Duration(static_cast<double>(seconds)) {}
  Duration(const char* text) : Duration(std::string(text)) {}
  Duration(const std::string& text);

  double seconds() const { return seconds_; }
  /// Returns the time as "DD:HH:MM:SS".
  std::string to_text() const;
  bool operator==(const Duration&) const = default;

 private:
  double seconds_ = 0;
};

LEVIN_DECLARE_OPTION_TYPE(Duration);

}  // namespace levin
