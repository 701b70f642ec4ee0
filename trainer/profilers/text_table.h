#pragma once
#include <string>
#include <vector>

namespace levin {

enum class Stage;

using TableRow = std::vector<std::string>;

/// Returns rows of equal length as a table with lines; the first row is the header, and a line follows each of the
/// `totals` rows after it. The first column is flush left, the others flush right.
std::string text_table(const std::vector<TableRow>& rows, size_t totals = 0);

/// Returns "FIT" for Stage::Fit.
std::string title_of(Stage stage);

}  // namespace levin
