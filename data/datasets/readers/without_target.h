#pragma once
#include <levin/data/datasets/readers/field_options.h>

#include <string>
#include <utility>

namespace levin::data {

/// Returns a table of names without "target": rows to predict need none.
template <class Table>
Table without_target(const Table& table) {
  auto values = table.values();
  values.erase("target");
  return Table(std::move(values));
}
inline FieldOptions without_target(FieldOptions options) {
  options.dtypes = without_target(options.dtypes);
  options.pad = without_target(options.pad);
  if (options.attention_mask == "target") options.attention_mask.clear();
  return options;
}

}  // namespace levin::data
