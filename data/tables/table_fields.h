#pragma once
#include <levin/core/options/text_table.h>

#include <cstddef>
#include <string>
#include <vector>

namespace levin::data {

/// A field and the columns that it is made of.
struct TableField {
  std::string name = {};
  std::vector<size_t> columns = {};
};

/// Finds the columns of the option `fields`: see TableFieldOptions. Throws levin::UsageError for a column that does not
/// exist, for a pattern that no column fits, and for a column whose name another one has.
std::vector<TableField> find_table_fields(const std::vector<std::string>& columns, const TextTable& fields);

}  // namespace levin::data
