#pragma once
#include <levin/core/options/option_type.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <utility>

namespace levin {

/// A table of whole numbers from 1, each with the first epoch that uses it: `{{0, 8}, {4, 4}}`; in JSON `{"0": 8, "4":
/// 4}`.
class EpochTable {
 public:
  EpochTable() = default;
  /// Throws UsageError for an epoch below 0 or a number below 1.
  EpochTable(std::initializer_list<std::pair<const int64_t, int64_t>> values);
  explicit EpochTable(std::map<int64_t, int64_t> values);

  bool empty() const { return values_.empty(); }
  const std::map<int64_t, int64_t>& values() const { return values_; }
  /// Returns the number for `epoch`, counted from 0; `before` if the table's first epoch is later.
  int64_t at(int64_t epoch, int64_t before) const;
  bool operator==(const EpochTable&) const = default;

 private:
  void check() const;
  std::map<int64_t, int64_t> values_ = {};
};

LEVIN_DECLARE_OPTION_TYPE(EpochTable);

}  // namespace levin
