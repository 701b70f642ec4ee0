#pragma once
#include <levin/data/tables/table_source.h>

#include <memory>
#include <string>
#include <vector>

namespace levin::data {

/// Opens files by the module of their format, "parquet" or "hdf5", as one table. `block` is what messages call a block:
/// "row group". Throws levin::UsageError that names the file for one that cannot be opened.
std::unique_ptr<TableSource> open_with_module(const std::string& format, const std::string& block,
                                              const std::vector<std::string>& files);

}  // namespace levin::data
