#include <levin/data/tables/table_fields.h>
#include <levin/core/system/error.h>
#include <levin/core/system/joined.h>
#include <levin/data/datasets/readers/column_names.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace levin::data {
namespace {

/// Throws for a field of a column whose name another column has too: the file does not tell which of them is meant.
void check_names(const std::vector<std::string>& columns, const std::vector<TableField>& fields) {
  std::set<std::string_view> names, repeated;
  for (const std::string& name : columns)
    if (!names.insert(name).second) repeated.insert(name);
  for (const TableField& field : fields)
    for (const size_t column : field.columns)
      if (repeated.contains(columns[column]))
        throw UsageError("data.fields: '", field.name, "': two columns have the name '", columns[column],
                         "'; rename one of them, or leave them out");
}

/// Returns the columns of each field.
std::vector<TableField> columns_of_fields(const std::vector<std::string>& columns, const TextTable& fields) {
  const std::string all = "*";
  std::string field;
  const auto find_column = [&](const std::string& name) {
    const auto found = std::ranges::find(columns, name);
    if (found == columns.end())
      throw UsageError("data.fields: there is no column '", name, "' for '", field, "'", did_you_mean(name, columns),
                       "; the columns are ", joined(columns));
    return static_cast<size_t>(found - columns.begin());
  };
  // What a pattern leaves out: the columns that fields name outright.
  std::set<size_t> taken;
  for (const auto& [name, text] : fields.values()) {
    field = name;
    if (name == all) continue;
    if (std::ranges::count(columns, text) > 0) taken.insert(find_column(text));
    for (const std::string& part : divided_at_commas(text))
      if (std::ranges::count(columns, part) > 0) taken.insert(find_column(part));
  }
  std::vector<TableField> found;
  for (const auto& [name, text] : fields.values()) {
    field = name;
    if (name != all) found.push_back({name, matching_columns(columns, name, text, find_column, taken)});
  }
  if (!fields.empty() && !fields.values().contains(all)) return found;
  const std::string pattern = fields.empty() ? all : fields.values().at(all);
  for (const size_t column : matching_columns(columns, all, pattern, find_column, taken)) {
    if (std::ranges::count(found, columns[column], &TableField::name) == 0)
      found.push_back({columns[column], {column}});
  }
  return found;
}

}  // namespace

std::vector<TableField> find_table_fields(const std::vector<std::string>& columns, const TextTable& fields) {
  std::vector<TableField> found = columns_of_fields(columns, fields);
  check_names(columns, found);
  return found;
}

}  // namespace levin::data
