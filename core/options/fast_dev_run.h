#pragma once
#include <levin/core/options/option_type.h>

#include <concepts>
#include <cstdint>

namespace levin {

/// PyTorch Lightning's fast_dev_run: false, true (one batch of each kind), or a number of batches.
class FastDevRun {
 public:
  FastDevRun() = default;
  /// Throws UsageError for a number below 0.
  template <std::integral T>
  FastDevRun(T batches) : batches_(static_cast<int64_t>(batches)) {
    check();
  }

  explicit operator bool() const { return batches_ > 0; }
  int64_t batches() const { return batches_; }
  bool operator==(const FastDevRun&) const = default;

 private:
  void check() const;
  int64_t batches_ = 0;
};

LEVIN_DECLARE_OPTION_TYPE(FastDevRun);

}  // namespace levin
