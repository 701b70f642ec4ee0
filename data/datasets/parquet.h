#pragma once
#include <levin/data/datasets/table_module.h>

#include <memory>
#include <string>
#include <vector>

namespace levin::data {

struct ParquetOptions {
  /// The files, and how their columns become fields; these options appear beside the others, without a prefix.
  TableFileOptions table = {};
  LEVIN_LOADER_OPTIONS(32, true);
};

/// Rows of Parquet files: numbers, bools, texts, and lists of these, by the names of their columns.
///
/// Files are read by Arrow's library, which levin opens when the first file is. Dates, times and durations are whole
/// numbers in the unit of the file. Blocks that are read at a time are row groups.
class Parquet : public TableModule {
 public:
  using Options = ParquetOptions;
  /// Throws levin::UsageError for options that contradict each other.
  explicit Parquet(Options options = {});

 protected:
  std::unique_ptr<TableSource> open_files(const std::vector<std::string>& files, const std::string& option,
                                          const TableFieldOptions& columns) override;
};

}  // namespace levin::data
