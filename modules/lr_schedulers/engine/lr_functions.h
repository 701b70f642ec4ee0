#pragma once
#include <levin/core/options/option_type.h>

#include <concepts>
#include <functional>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace levin {

/// A function of the epoch for all parameter groups, or one function per group: `.lr_lambda = [](int64_t epoch) {
/// return std::pow(0.95, epoch); }` or `.lr_lambda = {f, g}`.
class LRFunctions {
 public:
  using Function = std::function<double(int64_t epoch)>;

  /// No functions: the option is unset.
  LRFunctions() = default;
  template <class F>
    requires std::constructible_from<Function, F> && (!std::same_as<std::remove_cvref_t<F>, LRFunctions>)
  LRFunctions(F function) : functions_{Function(std::move(function))} {}
  LRFunctions(std::initializer_list<Function> functions) : functions_(functions) {}
  LRFunctions(std::vector<Function> functions) : functions_(std::move(functions)) {}

  /// Throws levin::UsageError, prefixed with `path`, if there are no functions or one of them is empty.
  void check(const std::string& path) const;
  /// Returns the function of each group. Throws levin::UsageError, prefixed with `path`, if the number of groups
  /// differs.
  std::vector<Function> for_groups(size_t groups, const std::string& path) const;
  bool empty() const { return functions_.empty(); }

 private:
  std::vector<Function> functions_ = {};
};

/// A config cannot hold a function: every value but null is an error.
LEVIN_DECLARE_OPTION_TYPE(LRFunctions);

}  // namespace levin
