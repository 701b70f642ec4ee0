#include <levin/program/commands/printable_table.h>
#include <levin/program/runs/text_chart.h>

#include <iostream>
#include <utility>
#include <vector>

namespace levin::cli {

void print_printable(const std::string& line) { std::cout << runs::printable(line) << "\n"; }

void print_printable(Table table) {
  for (std::vector<std::string>& row : table)
    for (std::string& cell : row) cell = runs::printable(cell);
  print_table(std::cout, table);
}

}  // namespace levin::cli
