#pragma once
#include <levin/core/options/option_type.h>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>

namespace levin {

/// The number of a loader's batches to run, as PyTorch Lightning's limit_*_batches: a whole number counts batches, a
/// floating-point number from 0.0 to 1.0 is a fraction of the loader. So 1 is one batch and 1.0 is all of them. Throws
/// UsageError for any other number.
class BatchLimit {
 public:
  BatchLimit() = default;
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  BatchLimit(T count) : count_(static_cast<int64_t>(count)) {
    check();
  }
  template <std::floating_point T>
  BatchLimit(T fraction) : fraction_(static_cast<double>(fraction)) {
    check();
  }

  bool is_fraction() const { return !count_; }
  double fraction() const { return fraction_; }
  /// Returns the number of batches; 0 if the limit is a fraction.
  int64_t count() const { return count_.value_or(0); }
  bool is_none() const { return count_ ? *count_ == 0 : fraction_ == 0; }
  /// Returns how many of a loader's `batches` (unset: unknown) are run; unset means until the loader ends. Throws
  /// UsageError, which names `path`, if a fraction is taken of an unknown number or is less than one batch.
  std::optional<int64_t> of(std::optional<int64_t> batches, const std::string& path) const;
  bool operator==(const BatchLimit&) const = default;

 private:
  void check() const;
  std::optional<int64_t> count_ = {};
  double fraction_ = 1;
};

LEVIN_DECLARE_OPTION_TYPE(BatchLimit);

}  // namespace levin
