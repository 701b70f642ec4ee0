#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace levin::sweep {

/// An option that a sweep varies. Its values are texts, as a flag takes them.
class Parameter {
 public:
  /// Parses "1e-4,1e-3,1e-2". Throws levin::UsageError for an empty value, for one that stands twice, and for less than
  /// two.
  static Parameter list(std::string name, const std::string& text, char separator);
  /// Parses LOW:HIGH, LOW:HIGH:log, and both with :N, the points of a grid. `is_whole`: whole numbers. Throws
  /// levin::UsageError for other texts, for an empty range, and for a logarithmic one that does not begin above 0.
  static Parameter range(std::string name, const std::string& text, bool is_whole);

  /// Returns the option's name: "model.optimizer.lr".
  const std::string& name() const { return name_; }
  /// Returns the first value, and the last: those of a list, or the bounds of a range.
  std::vector<std::string> bounds() const;
  /// Returns the values of a grid: those of a list, the N points of a range, or all whole numbers of a range without
  /// logarithm and N. Throws levin::UsageError for another range.
  std::vector<std::string> points() const;
  /// Returns the number of different values; unset for a range of real numbers.
  std::optional<double> count() const;
  /// Returns the value for a number in [0, 1). Values of a list are equally likely, those of a range uniform in the
  /// number or its logarithm. Real numbers have six significant digits.
  std::string draw(double uniform) const;

 private:
  explicit Parameter(std::string name) : name_(std::move(name)) {}
  std::string at(double fraction) const;

  std::string name_;
  std::vector<std::string> values_ = {};  ///< empty for a range
  double low_ = 0, high_ = 0;
  bool is_whole_ = false, is_log_ = false;
  std::optional<int64_t> points_ = {};
};

}  // namespace levin::sweep
