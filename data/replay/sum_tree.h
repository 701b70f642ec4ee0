#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace levin::data {

/// Weights of `size` items, their sum, and the smallest that is not 0; each change takes O(log size).
///
/// A node is always the sum of its two children, so a tree depends on its leaves alone, to the bit.
class SumTree {
 public:
  explicit SumTree(int64_t size);

  void set(int64_t item, double weight);
  double operator[](int64_t item) const { return sums_[static_cast<size_t>(leaves_ + item)]; }
  double sum() const { return sums_[1]; }
  /// Returns the smallest weight that is not 0; infinity if all are.
  double smallest() const { return least_[1]; }
  /// Returns the item in whose part of [0, sum) `value` is. It has a weight above 0, if any has.
  int64_t find(double value) const;

  /// Returns the weights of the first `items`, double [items].
  at::Tensor weights(int64_t items) const;
  /// Sets the weights of the first items from a CPU tensor, double [items]; the others become 0.
  void set_weights(const at::Tensor& weights);

 private:
  int64_t size_, leaves_ = 1;  // leaves: a power of two
  std::vector<double> sums_ = {}, least_ = {};
};

}  // namespace levin::data
