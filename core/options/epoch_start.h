#pragma once
#include <levin/core/options/option_type.h>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>

namespace levin {

/// The epoch in which something starts: a whole number from 1 counts epochs, a floating-point number from 0.0 to 1.0 is
/// a fraction of max_epochs. Throws UsageError for any other number.
class EpochStart {
 public:
  EpochStart() = default;
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  EpochStart(T number) : number_(static_cast<int64_t>(number)) {
    check();
  }
  template <std::floating_point T>
  EpochStart(T fraction) : fraction_(static_cast<double>(fraction)) {
    check();
  }

  bool is_fraction() const { return !number_; }
  double fraction() const { return fraction_; }
  /// Returns the number of the epoch, from 1; 0 for a fraction.
  int64_t number() const { return number_.value_or(0); }
  /// Returns the number of the epoch, from 0, that a fraction of `max_epochs` rounds down to, or the number. Throws
  /// UsageError, which names `path`, for a fraction if there is no limit.
  int64_t of(std::optional<int64_t> max_epochs, const std::string& path) const;
  bool operator==(const EpochStart&) const = default;

 private:
  void check() const;
  std::optional<int64_t> number_ = {};
  double fraction_ = 0;
};

LEVIN_DECLARE_OPTION_TYPE(EpochStart);

}  // namespace levin
