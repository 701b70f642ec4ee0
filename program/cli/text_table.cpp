#include <levin/program/cli/text_table.h>

#include <algorithm>

namespace levin::cli {

void print_table(std::ostream& out, const Table& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      widths.resize(std::max(widths.size(), i + 1));
      widths[i] = std::max(widths[i], row[i].size());
    }
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i)
      out << row[i] << (i + 1 < row.size() ? std::string(widths[i] - row[i].size() + 2, ' ') : "\n");
  }
}

}  // namespace levin::cli
