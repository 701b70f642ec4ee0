#include <levin/data/datasets/hdf5.h>
#include <levin/data/remote/remote_object.h>
#include <levin/data/tables/module_source.h>
#include <levin/data/tables/table_files.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace levin::data {

namespace {

/// Returns where the group of "a.h5:group" begins; the end if the name has none.
size_t group_begin(const std::string& name) {
  std::error_code ignored;
  if (is_remote(name)) {  // where a colon may also stand behind the scheme and before the port
    for (const std::string ending : {".h5:", ".hdf5:"})
      if (const size_t at = name.find(ending); at != name.npos) return at + ending.size() - 1;
    return name.size();
  }
  return std::filesystem::exists(name, ignored) ? name.size() : std::min(name.rfind(':'), name.size());
}

}  // namespace

Hdf5::Hdf5(Options options) : TableModule("Hdf5", options.table, loader_options(options)) {}

std::unique_ptr<TableSource> Hdf5::open_files(const std::vector<std::string>& files, const std::string& option,
                                              const TableFieldOptions& /*columns*/) {
  std::vector<std::string> found;
  for (const std::string& name : files) {
    const std::string group = name.substr(group_begin(name));
    for (const std::string& file :
         find_table_files({name.substr(0, name.size() - group.size())}, {".h5", ".hdf5"}, option))
      found.push_back(file + group);
  }
  return open_with_module("hdf5", "block", found);
}

}  // namespace levin::data
