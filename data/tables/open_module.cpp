#include <levin/data/tables/open_module.h>
#include <dlfcn.h>
#include <levin/core/system/error.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <vector>

namespace levin::data {
namespace {

namespace fs = std::filesystem;

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

/// The folder of the program or library that this function is in.
fs::path own_folder() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&open_table_module), &info) == 0 || !info.dli_fname) return {};
  std::error_code error;
  const fs::path file = fs::canonical(info.dli_fname, error);
  // The program's own name may be relative to a folder that was left.
  return (error || fs::path(info.dli_fname).is_relative() ? fs::read_symlink("/proc/self/exe", error) : file)
      .parent_path();
}

std::vector<fs::path> places_of(const std::string& file) {
  std::vector<fs::path> places;
  if (const char* given = std::getenv("LEVIN_MODULES")) places.push_back(fs::path(given) / file);
  const fs::path own = own_folder();
  if (own.empty()) return places;
  for (const char* folder : {".", "../lib"}) places.push_back(own / folder / file);
  return places;
}

/// Opens a module; one that is only named is looked for by the system's loader, and null if there is none.
const ModuleFunctions* open_at(const fs::path& path, const std::string& format) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library && !path.has_parent_path()) return nullptr;
  if (!library) {
    const char* const why = dlerror();
    throw UsageError(path.string(), ": cannot be opened: ", why ? why : "unknown error",
                     "; install the library that it was built with, or ", how_to_get(format));
  }
  const auto get = reinterpret_cast<GetModuleFunctions>(dlsym(library, kGetModuleFunctions));
  const ModuleFunctions* const module = get ? get() : nullptr;
  if (!module || module->version != kTableModuleVersion)
    throw UsageError(path.string(), ": belongs to another levin; install both of one build");
  return module;
}

}  // namespace

const ModuleFunctions& open_table_module(const std::string& format) {
  static std::mutex mutex;
  static std::map<std::string, const ModuleFunctions*> opened;
  const std::lock_guard lock(mutex);
  const ModuleFunctions*& module = opened[format];
  if (module) return *module;
  const std::string file = "liblevin_" + format + ".so";
  for (const fs::path& path : places_of(file)) {
    std::error_code ignored;
    if (fs::exists(path, ignored)) return *(module = open_at(path, format));
  }
  if ((module = open_at(file, format)) != nullptr) return *module;
  throw UsageError("this levin is built without a reader of ", name_of(format), " files (there is no ", file,
                   " beside it, nor in the folder of the variable LEVIN_MODULES); ", how_to_get(format));
}

}  // namespace levin::data
