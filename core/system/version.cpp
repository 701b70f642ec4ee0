#include <levin/core/system/version.h>
#include <torch/version.h>

namespace levin {

std::string levin_version() { return LEVIN_VERSION; }

std::string torch_version() { return TORCH_VERSION; }

std::string compiler_version() {
#ifdef __clang__
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

}  // namespace levin
