#pragma once
#include <cstdint>

namespace at {
class RecordFunction;
struct ObserverContext;
}  // namespace at

namespace levin {

/// Counts the floating-point operations of matrix products, convolutions and attention that run while the counter
/// lives: those of the calling thread, and those of backward on the threads of autograd. A multiplication and an
/// addition are two. Elementwise operations do not count. There is one counter at a time; a second one counts nothing.
/// Source: torch.utils.flop_counter
class FlopCounter {
 public:
  FlopCounter();
  ~FlopCounter();
  FlopCounter(const FlopCounter&) = delete;
  FlopCounter& operator=(const FlopCounter&) = delete;

  /// Returns the operations so far.
  int64_t flops() const;

 private:
  uint64_t handle_ = 0;
  bool counts_;
};

}  // namespace levin
