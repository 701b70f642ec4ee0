#include <levin/data/datasets/json_lines.h>
#include <levin/data/datasets/readers/convert_field.h>
#include <levin/data/tables/json_source.h>
#include <levin/data/tables/table_fields.h>
#include <levin/data/tables/table_files.h>

#include <algorithm>

namespace levin::data {

JsonLines::JsonLines(Options options) : TableModule("JsonLines", options.table, loader_options(options)) {}

std::unique_ptr<TableSource> JsonLines::open_files(const std::vector<std::string>& files, const std::string& option,
                                                   const TableFieldOptions& columns) {
  const std::vector<std::string> endings = {".jsonl", ".ndjson", ".jsonl.gz", ".jsonl.zst", ".jsonl.xz"};
  return open_json_lines(find_table_files(files, endings, option), [&](const std::vector<std::string>& names) {
    std::vector<int> floating(names.size(), 0);
    const auto types = field_types_of(columns.field_options);
    for (const TableField& field : find_table_fields(names, columns.fields)) {
      const auto type = types.find(field.name);
      const int kind = type != types.end() ? 2 * c10::isFloatingType(type->second) : field.name == "input";
      for (const size_t column : field.columns) floating[column] = std::max(floating[column], kind);
    }
    return floating;
  });
}

}  // namespace levin::data
