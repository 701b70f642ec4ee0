#pragma once
#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace levin::data {

/// The values of a column in a block of rows.
struct TableColumn {
  /// [rows, ...]; of lists, those of all rows one after another; of texts, int64, their places in `words`.
  at::Tensor values = {};
  bool is_list = false;
  std::vector<int64_t> ends = {};  ///< of lists: of each row, where it ends in `values`
  bool is_text = false;
  std::vector<std::string> words = {};
  /// The rows that lack a value or a part of it, in order. `values` has zeros there, and of texts the word "".
  std::vector<int64_t> missing = {};
};

/// Between which values those of a column lie, as a file says it.
struct ColumnRange {
  bool is_text = false;
  long double least = 0, greatest = 0;
  std::string least_text = {}, greatest_text = {};
};

/// Rows of named columns in files, read block by block.
class TableSource {
 public:
  virtual ~TableSource() = default;

  /// Returns the names of all columns.
  virtual const std::vector<std::string>& columns() const = 0;
  /// Chooses the columns that will be read, before the functions below are called. Throws levin::UsageError for columns
  /// that do not go together, and for one whose type cannot be read.
  virtual void select(const std::vector<size_t>& columns) = 0;
  virtual int64_t block_count() const = 0;
  virtual int64_t row_count(int64_t block) const = 0;
  /// Estimates the memory that the selected columns of a block take.
  virtual int64_t byte_count(int64_t block) const = 0;
  /// Returns the range of a column's values that are there in a block; none if the file does not say it.
  virtual std::optional<ColumnRange> range(int64_t /*block*/, size_t /*column*/) const { return {}; }
  /// Reads some of the selected columns of a block, in this order; called by several threads at once. Throws
  /// levin::UsageError that names the file for what cannot be read.
  virtual std::vector<TableColumn> read(int64_t block, const std::vector<size_t>& columns) const = 0;
  /// Returns where a row stands, for messages: "a.parquet: row group 2, row 17".
  virtual std::string place(int64_t block, int64_t row) const = 0;
};

}  // namespace levin::data
