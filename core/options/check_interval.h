#pragma once
#include <levin/core/options/duration.h>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>

namespace levin {

/// The interval between validations during training, as PyTorch Lightning's val_check_interval: a whole number counts
/// train batches, a floating-point number up to 1.0 is a fraction of the epoch, "DD:HH:MM:SS" is a time. Throws
/// UsageError for any other value.
class CheckInterval {
 public:
  CheckInterval() = default;
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  CheckInterval(T batches) : batches_(static_cast<int64_t>(batches)) {
    check();
  }
  template <std::floating_point T>
  CheckInterval(T fraction) : fraction_(static_cast<double>(fraction)) {
    check();
  }
  CheckInterval(const char* time) : time_(Duration(time)) {}
  CheckInterval(Duration time) : time_(time) {}

  bool is_fraction() const { return !batches_ && !time_; }
  double fraction() const { return fraction_; }
  /// Returns the number of train batches; 0 if the interval is a fraction or a time.
  int64_t count() const { return batches_.value_or(0); }
  const std::optional<Duration>& time() const { return time_; }
  /// Returns the train batches between two validations in an epoch of `epoch_batches` batches (unset: unknown); unset
  /// means that validation runs at the epoch's end. Throws UsageError, which names `path`, for a fraction of an epoch
  /// of unknown length and for more batches than the epoch has.
  std::optional<int64_t> of(std::optional<int64_t> epoch_batches, const std::string& path) const;
  bool operator==(const CheckInterval&) const = default;

 private:
  void check() const;
  std::optional<int64_t> batches_ = {};
  std::optional<Duration> time_ = {};
  double fraction_ = 1;
};

LEVIN_DECLARE_OPTION_TYPE(CheckInterval);

}  // namespace levin
