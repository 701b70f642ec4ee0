#include <levin/core/system/open_library.h>
#include <dlfcn.h>
#include <levin/core/system/error.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace levin {
namespace {

namespace fs = std::filesystem;

/// The folder of the program or library that this function is in.
fs::path own_folder() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&open_library), &info) == 0 || !info.dli_fname) return {};
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

}  // namespace

void* open_library(const std::string& file, const std::string& how_to_get) {
  for (const fs::path& path : places_of(file)) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) continue;
    if (void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    const char* const why = dlerror();
    throw UsageError(path.string(), ": cannot be opened: ", why ? why : "unknown error",
                     "; install the library that it was built with, or ", how_to_get);
  }
  return dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
}

}  // namespace levin
