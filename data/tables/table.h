#pragma once
#include <levin/data/tables/row_filter.h>
#include <levin/data/tables/table_fields.h>
#include <levin/data/tables/table_options.h>
#include <levin/data/tables/table_source.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace levin::data {

/// The rows of a block that are samples.
struct BlockRows {
  int64_t all = 0;      ///< rows of the block
  bool are_all = true;  ///< all of them; `rows` is empty then
  std::vector<int64_t> rows = {};

  int64_t size() const { return are_all ? all : static_cast<int64_t>(rows.size()); }
  int64_t operator[](int64_t i) const { return are_all ? i : rows[static_cast<size_t>(i)]; }
};

/// The columns of a block that a table uses, by their number in the source.
using TableBlock = std::map<size_t, TableColumn>;

/// A source with the columns that a data set uses, its blocks held in memory if there is room for all of them.
class Table {
 public:
  /// Throws levin::UsageError for options that contradict the files. `name` is that of the first file, for messages.
  Table(std::unique_ptr<TableSource> source, const TableFieldOptions& options, std::string name);

  const std::string& name() const { return name_; }
  const std::vector<TableField>& fields() const { return fields_; }
  const std::string& column_name(size_t column) const { return source_->columns()[column]; }
  bool is_text(size_t column) const { return types_.at(column).is_text; }
  /// Returns whether a column holds a number or a bool a row.
  bool is_number(size_t column) const {
    const TableColumn& type = types_.at(column);
    return !type.is_text && !type.is_list && type.values.dim() == 1;
  }
  int64_t block_count() const { return source_->block_count(); }
  /// Returns whether all blocks fit into memory_gb.
  bool fits_memory() const { return bytes_ <= most_bytes_; }
  /// Returns the most bytes of a block, estimated, and those of memory_gb.
  int64_t largest_block() const { return largest_; }
  int64_t most_bytes() const { return most_bytes_; }
  /// Returns the columns of a block; called by several threads at once. Throws levin::UsageError as TableSource::read,
  /// and for a column of another type than in the first block.
  std::shared_ptr<const TableBlock> block(int64_t number) const;
  /// Forgets the blocks in memory.
  void forget_blocks() { held_.clear(); }
  std::string place(int64_t block, int64_t row) const { return source_->place(block, row); }

  /// Returns the rows of each block that the option `where` takes and, with `missing` drop, those without gaps.
  std::vector<BlockRows> choose_rows();

 private:
  void learn_types();
  bool may_have_rows(int64_t number) const;
  TableBlock read(int64_t number, const std::vector<size_t>& columns) const;
  void check_type(const TableColumn& column, size_t number, int64_t block) const;

  std::unique_ptr<TableSource> source_;
  std::string name_;
  std::vector<TableField> fields_;
  RowFilter filter_;
  bool drops_;
  std::vector<size_t> columns_ = {};  ///< of the fields
  int64_t bytes_ = 0, largest_ = 0, most_bytes_;
  std::map<size_t, TableColumn> types_ = {};  ///< of each column, as in the first block that has values, without these
  std::vector<std::shared_ptr<const TableBlock>> held_ = {};
};

}  // namespace levin::data
