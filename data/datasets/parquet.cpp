#include <levin/data/datasets/parquet.h>
#include <levin/data/tables/module_source.h>
#include <levin/data/tables/table_files.h>

namespace levin::data {

Parquet::Parquet(Options options) : TableModule("Parquet", options.table, loader_options(options)) {}

std::unique_ptr<TableSource> Parquet::open_files(const std::vector<std::string>& files, const std::string& option,
                                                 const TableFieldOptions& /*columns*/) {
  return open_with_module("parquet", "row group", find_table_files(files, {".parquet", ".pq"}, option));
}

}  // namespace levin::data
