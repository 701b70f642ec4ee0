#include <levin/data/datasets/hdf5.h>
#include <levin/data/tables/module_source.h>
#include <levin/data/tables/table_files.h>

#include <filesystem>

namespace levin::data {

Hdf5::Hdf5(Options options) : TableModule("Hdf5", options.table, loader_options(options)) {}

std::unique_ptr<TableSource> Hdf5::open_files(const std::vector<std::string>& files, const std::string& option,
                                              const TableFieldOptions& /*columns*/) {
  std::vector<std::string> found;
  for (const std::string& name : files) {
    std::error_code ignored;
    const size_t colon = name.rfind(':');
    const bool has_group = colon != name.npos && !std::filesystem::exists(name, ignored);
    const std::string group = has_group ? name.substr(colon) : "";
    for (const std::string& file :
         find_table_files({name.substr(0, name.size() - group.size())}, {".h5", ".hdf5"}, option))
      found.push_back(file + group);
  }
  return open_with_module("hdf5", "block", found);
}

}  // namespace levin::data
