#include <levin/data/datasets/readers/column_names.h>
#include <fnmatch.h>
#include <levin/core/system/error.h>

#include <algorithm>

namespace levin::data {

bool is_name_pattern(const std::string& name) { return name.find_first_of("*?[") != name.npos; }

std::vector<std::string> divided_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    const size_t first = std::min(text.find_first_not_of(" \t\r\n", begin), comma);
    const size_t last = comma == first ? first : text.find_last_not_of(" \t\r\n", comma - 1) + 1;
    parts.push_back(text.substr(first, last - first));
    begin = comma + 1;
  }
  return parts;
}

std::vector<size_t> matching_columns(const std::vector<std::string>& names, const std::string& field,
                                     const std::string& text, const std::function<size_t(const std::string&)>& column,
                                     const std::set<size_t>& taken) {
  if (std::ranges::count(names, text) > 0) return {column(text)};
  std::vector<size_t> columns;
  for (const std::string& name : divided_at_commas(text)) {
    if (!is_name_pattern(name)) {
      columns.push_back(column(name));
      continue;
    }
    const size_t before = columns.size();
    for (size_t i = 0; i < names.size(); ++i)
      if (!taken.contains(i) && fnmatch(name.c_str(), names[i].c_str(), 0) == 0) columns.push_back(i);
    if (columns.size() == before)
      throw UsageError("data.fields: '", name, "' of ", field, " fits the name of no column");
  }
  return columns;
}

}  // namespace levin::data
