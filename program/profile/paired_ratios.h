#pragma once
#include <cstddef>
#include <vector>

namespace levin {

/// Ratios of measurements that were made side by side, such as the speed with a change over the speed without.
class PairedRatios {
 public:
  /// Ignores a ratio that is not finite and above 0.
  void add(double ratio);
  size_t size() const { return logs_.size(); }
  /// Returns the median; 1 without ratios.
  double median() const;
  /// The bounds of the 95 % confidence interval of the geometric mean, by Student's t; 0 and infinity for fewer than
  /// two ratios.
  double low() const { return bound(-1); }
  double high() const { return bound(+1); }
  /// Returns whether the ratios are clearly above `limit`: the median and the interval are, or each of seven or more.
  bool is_clearly_above(double limit) const;

 private:
  double bound(int side) const;

  std::vector<double> logs_ = {};
};

}  // namespace levin
