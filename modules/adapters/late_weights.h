#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <utility>
#include <vector>

namespace levin::adapters {

/// Frozen weights of a module that is being made, which get their values when an adapter reads them. Those that it then
/// holds in 4 or 8 bits are never all in memory as floats. While it lives, it is the one of its thread.
class LateWeights {
 public:
  LateWeights();
  ~LateWeights();
  LateWeights(const LateWeights&) = delete;
  LateWeights& operator=(const LateWeights&) = delete;

  /// Adds a parameter without values, and what gives it its values.
  void add(const at::Tensor& parameter, std::function<void()> fill) { waiting_.emplace_back(parameter, fill); }
  /// Gives all that are left their values.
  void fill_rest();

  /// The one of this thread; null if there is none.
  static LateWeights* current();

 private:
  friend bool is_late(const at::Tensor& parameter);
  friend bool fill_late(const at::Tensor& parameter);

  std::vector<std::pair<at::Tensor, std::function<void()>>> waiting_ = {};
  LateWeights* outer_;
};

/// Returns whether a parameter waits for its values in the LateWeights of this thread.
bool is_late(const at::Tensor& parameter);
/// Gives it its values, if it waits for them, and returns whether it did.
bool fill_late(const at::Tensor& parameter);

}  // namespace levin::adapters
