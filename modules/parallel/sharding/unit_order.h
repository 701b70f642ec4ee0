#pragma once
#include <c10/util/hash.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace levin::parallel {

/// The order in which a pass uses the units, and that of the pass before, by which the next unit is known.
class UnitOrder {
 public:
  /// Begins another pass.
  void begin() {
    if (!now_.empty()) before_ = std::exchange(now_, {});
  }
  void add(size_t unit) { now_.push_back(unit); }
  /// Returns the unit that the previous pass used next, if it used the last unit at the same place; otherwise nothing.
  std::optional<size_t> next() const {
    const size_t done = now_.size();
    if (done == 0 || done >= before_.size() || before_[done - 1] != now_.back()) return {};
    return before_[done];
  }
  const std::vector<size_t>& units() const { return now_; }
  uint32_t hash() const {
    size_t hash = now_.size();
    for (const size_t unit : now_) hash = c10::hash_combine(hash, unit);
    return static_cast<uint32_t>(hash);
  }

 private:
  std::vector<size_t> now_ = {}, before_ = {};
};

}  // namespace levin::parallel
