#include <levin/program/cli/installed_prefix.h>
#include <levin/core/system/error.h>

#include <system_error>

namespace levin::cli {

namespace fs = std::filesystem;

fs::path installed_prefix() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const fs::path prefix = program.parent_path().parent_path();
  for (const char* lib : {"lib", "lib64"}) {
    if (fs::exists(prefix / lib / "cmake/levin/levinConfig.cmake", error)) return prefix;
    for (const fs::directory_entry& entry : fs::directory_iterator(prefix / lib, error))
      if (fs::exists(entry.path() / "cmake/levin/levinConfig.cmake", error)) return prefix;
  }
  return {};
}

fs::path require_installed_prefix() {
  const fs::path prefix = installed_prefix();
  if (prefix.empty())
    throw UsageError(
        "levin --cmake-prefix: this levin runs from its build folder; install it (cmake --install BUILD --prefix "
        "PREFIX), and call the program there");
  return prefix;
}

}  // namespace levin::cli
