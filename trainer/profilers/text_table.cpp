#include <levin/trainer/profilers/text_table.h>
#include <levin/core/run/stage.h>

#include <algorithm>
#include <cctype>

namespace levin {

std::string text_table(const std::vector<TableRow>& rows, size_t totals) {
  std::vector<size_t> widths(rows[0].size());
  for (const TableRow& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  size_t length = 1;
  for (const size_t width : widths) length += width + 3;
  const std::string line = std::string(length, '-') + "\n";
  std::string text = line;
  for (size_t r = 0; r < rows.size(); ++r) {
    text += "|";
    for (size_t i = 0; i < rows[r].size(); ++i) {
      const std::string space(widths[i] - rows[r][i].size(), ' ');
      text += " " + (i == 0 ? rows[r][i] + space : space + rows[r][i]) + " |";
    }
    text += "\n";
    if (r <= totals || r + 1 == rows.size()) text += line;
  }
  return text;
}

std::string title_of(Stage stage) {
  std::string title = to_string(stage);
  for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return title;
}

}  // namespace levin
