#pragma once
#include <compare>
#include <cstdint>
#include <map>

namespace at {
class RecordFunction;
struct ObserverContext;
}  // namespace at

namespace levin {

/// `count` products of matrices, [rows, inner] by [inner, columns].
struct MatrixProduct {
  int64_t count = 1, rows = 0, inner = 0, columns = 0;
  int64_t flops() const { return 2 * count * rows * inner * columns; }
  auto operator<=>(const MatrixProduct&) const = default;
};

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
  /// Returns the matrix products so far, with their calls. A convolution is the product that it amounts to: of its
  /// weight by the patches of its input.
  std::map<MatrixProduct, int64_t> products() const;

 private:
  uint64_t handle_ = 0;
  bool counts_;
};

}  // namespace levin
