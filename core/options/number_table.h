#pragma once
#include <levin/core/options/option_type.h>

#include <initializer_list>
#include <map>
#include <string>
#include <utility>

namespace levin {

/// Numbers by name: `{{"labels", -100}}`; in JSON `{"labels": -100}`.
class NumberTable {
 public:
  NumberTable() = default;
  NumberTable(std::initializer_list<std::pair<const std::string, double>> values) : values_(values) {}
  explicit NumberTable(std::map<std::string, double> values) : values_(std::move(values)) {}

  bool empty() const { return values_.empty(); }
  const std::map<std::string, double>& values() const { return values_; }
  bool operator==(const NumberTable&) const = default;

 private:
  std::map<std::string, double> values_ = {};
};

LEVIN_DECLARE_OPTION_TYPE(NumberTable);

}  // namespace levin
