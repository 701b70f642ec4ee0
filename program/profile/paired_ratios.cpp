#include <levin/program/profile/paired_ratios.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace levin {
namespace {

/// Quantiles 0.975 of Student's t distribution for 1 to 30 degrees of freedom.
constexpr double kT[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                         2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                         2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};

}  // namespace

void PairedRatios::add(double ratio) {
  if (std::isfinite(ratio) && ratio > 0) logs_.push_back(std::log(ratio));
}

double PairedRatios::median() const {
  if (logs_.empty()) return 1;
  std::vector<double> sorted = logs_;
  std::sort(sorted.begin(), sorted.end());
  const size_t middle = sorted.size() / 2;
  return std::exp(sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2);
}

double PairedRatios::bound(int side) const {
  const size_t n = logs_.size();
  if (n < 2) return side < 0 ? 0 : std::numeric_limits<double>::infinity();
  double mean = 0, squares = 0;
  for (const double log : logs_) mean += log / static_cast<double>(n);
  for (const double log : logs_) squares += (log - mean) * (log - mean);
  const double error = std::sqrt(squares / static_cast<double>(n - 1) / static_cast<double>(n));
  return std::exp(mean + side * kT[std::min(n - 2, std::size(kT) - 1)] * error);
}

bool PairedRatios::is_clearly_above(double limit) const {
  if (logs_.size() < 3 || median() <= limit) return false;
  const bool all_above = *std::min_element(logs_.begin(), logs_.end()) > std::log(limit);
  return low() > limit || (logs_.size() >= 7 && all_above);
}

}  // namespace levin
