#include <ATen/Version.h>
#include <c10/util/StringUtil.h>
#include <dlfcn.h>
#include <levin/trainer/cli/commands.h>
#include <torch/version.h>

namespace levin::cli {
namespace {

/// LibTorch was built with CUDA where its description of itself names the runtime.
std::string cuda_version() {
  constexpr const char* kBefore = "CUDA Runtime ";
  const std::string config = at::show_config();
  const size_t begin = config.find(kBefore);
  if (begin == std::string::npos) return "none";
  const size_t version = begin + std::string(kBefore).size();
  return config.substr(version, config.find_first_not_of("0123456789.", version) - version);
}

/// NCCL comes with LibTorch, so that it is asked for at run time instead of linked.
std::string nccl_version() {
  const auto get_version = reinterpret_cast<int (*)(int*)>(dlsym(RTLD_DEFAULT, "ncclGetVersion"));
  int version = 0;
  if (!get_version || get_version(&version) != 0) return "none";
  return c10::str(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

std::string compiler() {
#ifdef __clang__
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

}  // namespace

std::string version_text() {
  return c10::str("levin     ", LEVIN_VERSION, "\nLibTorch  ", TORCH_VERSION, "\nCUDA      ", cuda_version(),
                  "\nNCCL      ", nccl_version(), "\ncompiler  ", compiler(), "\n");
}

}  // namespace levin::cli
