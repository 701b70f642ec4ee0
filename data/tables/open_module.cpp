#include <levin/data/tables/open_module.h>
#include <dlfcn.h>
#include <levin/core/system/error.h>
#include <levin/core/system/open_library.h>

#include <map>
#include <mutex>

namespace levin::data {
namespace {

/// What a build needs to have the module of a format.
std::string how_to_get(const std::string& format) {
  if (format == "parquet")
    return "build levin with Arrow's library, which Python's package pyarrow has (scripts/setup installs it), or with "
           "libarrow-dev and libparquet-dev";
  return "build levin with libhdf5-dev";
}

std::string name_of(const std::string& format) {
  return format == "parquet" ? "Parquet" : format == "hdf5" ? "HDF5" : format;
}

}  // namespace

const ModuleFunctions& open_table_module(const std::string& format) {
  static std::mutex mutex;
  static std::map<std::string, const ModuleFunctions*> opened;
  const std::lock_guard lock(mutex);
  const ModuleFunctions*& module = opened[format];
  if (module) return *module;
  const std::string file = "liblevin_" + format + ".so";
  void* const library = open_library(file, how_to_get(format));
  if (!library)
    throw MissingModule("this levin is built without a reader of ", name_of(format), " files (there is no ", file,
                        " beside it, nor in the folder of the variable LEVIN_MODULES); ", how_to_get(format));
  const auto get = reinterpret_cast<GetModuleFunctions>(dlsym(library, kGetModuleFunctions));
  const ModuleFunctions* const found = get ? get() : nullptr;
  if (!found || found->version != kTableModuleVersion)
    throw UsageError(file, ": belongs to another levin; install both of one build");
  return *(module = found);
}

}  // namespace levin::data
