#pragma once
#include <levin/core/options/option_type.h>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>

namespace levin {

/// A whole number, or "auto" if levin is to compute it (`"total_steps": "auto"` is the number of steps of the run).
class AutoInt {
 public:
  /// auto
  AutoInt() = default;
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  AutoInt(T value) : value_(static_cast<int64_t>(value)) {}
  /// Throws UsageError for any text other than "auto".
  AutoInt(const char* word);

  bool is_auto() const { return !value_; }
  int64_t value_or(int64_t automatic) const { return value_.value_or(automatic); }

 private:
  std::optional<int64_t> value_ = {};
};

LEVIN_DECLARE_OPTION_TYPE(AutoInt);

}  // namespace levin
