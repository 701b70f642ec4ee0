#pragma once
#include <ostream>
#include <string>
#include <vector>

namespace levin::cli {

/// The rows of a table; the first has the names of the columns.
using Table = std::vector<std::vector<std::string>>;

/// Prints the rows with their columns aligned.
void print_table(std::ostream& out, const Table& rows);

}  // namespace levin::cli
