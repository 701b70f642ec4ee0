#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace levin {

/// The running mean of the losses of a range test, with the weights and the bias correction of PyTorch Lightning's:
/// mean = beta * mean + (1 - beta) * loss, divided by 1 - beta^(steps + 1).
class SmoothedLoss {
 public:
  explicit SmoothedLoss(double beta = 0.98) : beta_(beta) {}
  double add(double loss);

 private:
  double beta_, mean_ = 0;
  int64_t steps_ = 0;
};

/// Index of the point where the loss falls most steeply over the rate, without the first `skip_begin` and the last
/// `skip_end` points and without losses that are not finite; nothing where fewer than two points are left. Computed in
/// float32, so that ties fall as in PyTorch Lightning.
std::optional<size_t> steepest_descent(const std::vector<double>& lrs, const std::vector<double>& losses,
                                       int64_t skip_begin, int64_t skip_end);

}  // namespace levin
