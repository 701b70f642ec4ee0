#include <levin/core/system/error.h>
#include <levin/trainer/compiled/compiled_code.h>

namespace levin::compiled {

std::unique_ptr<CompiledCode> load_compiled_code(const std::filesystem::path& /*path*/) {
  throw UsageError(
      "trainer.compiled_step: levin was built with a LibTorch without AOTInductor; build it with one of Python's (pip "
      "install torch), or leave compiled_step unset");
}

}  // namespace levin::compiled
