#pragma once
#include <ATen/core/Tensor.h>
#include <levin/data/datasets/readers/field_dataset.h>
#include <levin/data/files/csv_file.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace levin::data {

struct CsvDatasetOptions;

/// A field that columns of a CSV file make, before rows are chosen.
struct CsvField {
  std::string name = {};
  std::vector<size_t> columns = {};  ///< in the file
  bool is_list = false;              ///< of one column, whose cells are lists
  bool is_float = true;              ///< it becomes float32
  std::vector<double> values = {};   ///< of all rows
  std::vector<int64_t> ends = {};    ///< of each row, where its values end
};

/// Finds the columns of the options `fields` and `lists`. Throws levin::UsageError for columns that do not exist, and
/// for a field that is named twice.
std::vector<CsvField> find_csv_fields(const CsvReader& reader, const CsvDatasetOptions& options);

/// Appends the values of the reader's record to a field. Throws levin::UsageError that names file, line and column for
/// a cell that is no number, or no list of them, and for a missing one unless `missing` is "zero".
void read_csv_field(const CsvReader& reader, const CsvDatasetOptions& options, CsvField& field);

/// Returns the values of the rows, float64 or float32: [rows] for one column, [rows, columns] for several.
at::Tensor fixed_field(const CsvField& field, const std::vector<int64_t>& rows);
VaryingField varying_field(const CsvField& field, const std::vector<int64_t>& rows);

/// Appends the numbers of a list: "[1, 2.5]", "1 2.5" or "1,2.5". Returns false if it is none.
bool parse_number_list(std::string_view text, std::vector<double>& numbers);

}  // namespace levin::data
