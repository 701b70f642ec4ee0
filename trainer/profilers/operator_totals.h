#pragma once
#include <levin/core/run/profiler.h>

#include <cstdint>
#include <string>
#include <vector>

namespace levin {

/// What an operator of LibTorch took inside of an action.
struct OperatorTotal {
  int action = -1;  ///< the innermost one in the operator's thread; -1 outside of actions
  std::string name = {};
  int64_t calls = 0;
  int64_t nanoseconds = 0;       ///< with the operators inside it, less calls of itself inside itself
  int64_t self_nanoseconds = 0;  ///< without the operators inside it
};

/// Adds up the operators that LibTorch runs in all threads while the object lives, by action of a profiler. There is
/// one at a time in a process: a second one counts nothing.
class OperatorTotals {
 public:
  /// `profiler` must outlive the object.
  explicit OperatorTotals(const Profiler& profiler);
  ~OperatorTotals();
  OperatorTotals(const OperatorTotals&) = delete;
  OperatorTotals& operator=(const OperatorTotals&) = delete;

  bool is_counting() const { return counts_; }
  /// Returns the totals so far, by action and name.
  std::vector<OperatorTotal> totals() const;

 private:
  bool counts_;
  uint64_t handle_ = 0;
};

}  // namespace levin
