#pragma once
#include <levin/core/options/option_type.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace levin {

/// A number for all parameter groups of an optimizer, or one number per group: `.max_lr = 0.1` or
/// `.max_lr = {0.1, 0.01}`.
class PerGroup {
 public:
  /// No numbers: the option is unset.
  PerGroup() = default;
  PerGroup(double value) : values_{value} {}
  PerGroup(std::initializer_list<double> values) : values_(values) {}
  PerGroup(std::vector<double> values) : values_(std::move(values)) {}

  bool empty() const { return values_.empty(); }
  /// Returns the numbers; a single one applies to all groups.
  const std::vector<double>& values() const { return values_; }
  /// Returns the number of each group. Throws levin::UsageError, prefixed with `path`, if the number of groups differs.
  std::vector<double> for_groups(size_t groups, const std::string& path) const;

 private:
  std::vector<double> values_ = {};
};

LEVIN_DECLARE_OPTION_TYPE(PerGroup);

}  // namespace levin
