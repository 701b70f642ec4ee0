#include <levin/core/system/version.h>
#include <c10/util/StringUtil.h>
#include <dlfcn.h>
#include <levin/program/cli/plugin.h>
#include <levin/program/commands/commands.h>

namespace levin::cli {
namespace {

/// Returns the version reported by `function` of a library that comes with LibTorch; 0 if the library is missing.
int loaded_version(const char* function) {
  const auto get_version = reinterpret_cast<int (*)(int*)>(dlsym(RTLD_DEFAULT, function));
  int version = 0;
  return get_version && get_version(&version) == 0 ? version : 0;
}

std::string cuda_version() {
  const int version = loaded_version("cudaRuntimeGetVersion");
  return version == 0 ? "none" : c10::str(version / 1000, ".", version / 10 % 100);
}

std::string nccl_version() {
  const int version = loaded_version("ncclGetVersion");
  return version == 0 ? "none" : c10::str(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

static_assert(detail::kPluginVersion == "levin " LEVIN_VERSION, "write the new version into program/cli/plugin.h");

}  // namespace

std::string version_text() {
  return c10::str("levin     ", levin_version(), "\nLibTorch  ", torch_version(), "\nCUDA      ", cuda_version(),
                  "\nNCCL      ", nccl_version(), "\ncompiler  ", compiler_version(), "\n");
}

}  // namespace levin::cli
