#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace levin {

/// The running mean of the losses of a range test, with PyTorch Lightning's weights and bias correction: mean = beta *
/// mean + (1 - beta) * loss, divided by 1 - beta^(steps + 1).
class SmoothedLoss {
 public:
  explicit SmoothedLoss(double beta = 0.98) : beta_(beta) {}
  double add(double loss);

 private:
  double beta_, mean_ = 0;
  int64_t steps_ = 0;
};

/// Returns the index of the point where the loss falls most steeply over the rate. Skips the first `skip_begin` and the
/// last `skip_end` points and losses that are not finite; returns nullopt if fewer than two points are left. Computed
/// in float32, so that ties are broken as in PyTorch Lightning.
std::optional<size_t> steepest_descent(const std::vector<double>& lrs, const std::vector<double>& losses,
                                       int64_t skip_begin, int64_t skip_end);

}  // namespace levin
