#include <levin/core/system/python_of_libtorch.h>
#include <ATen/Context.h>
#include <dlfcn.h>

#include <filesystem>
#include <system_error>

namespace levin {
namespace fs = std::filesystem;

std::string python_of_libtorch() {
  Dl_info library = {};
  if (dladdr(reinterpret_cast<const void*>(&at::globalContext), &library) == 0) return "python3";
  // <prefix>/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so
  const fs::path packages = fs::path(library.dli_fname).parent_path().parent_path().parent_path();
  const fs::path python = packages.parent_path().parent_path().parent_path() / "bin" / "python3";
  std::error_code ignored;
  return packages.filename() == "site-packages" && fs::exists(python, ignored) ? python.string() : "python3";
}

}  // namespace levin
