#pragma once
#include <levin/core/options/option_type.h>

#include <initializer_list>
#include <map>
#include <string>
#include <utility>

namespace levin {

/// Texts by name: `{{"team", "vision"}}`; in JSON `{"team": "vision"}`.
class TextTable {
 public:
  TextTable() = default;
  TextTable(std::initializer_list<std::pair<const std::string, std::string>> values) : values_(values) {}
  explicit TextTable(std::map<std::string, std::string> values) : values_(std::move(values)) {}

  bool empty() const { return values_.empty(); }
  const std::map<std::string, std::string>& values() const { return values_; }
  bool operator==(const TextTable&) const = default;

 private:
  std::map<std::string, std::string> values_ = {};
};

LEVIN_DECLARE_OPTION_TYPE(TextTable);

}  // namespace levin
