#include <levin/core/system/error.h>
#include <levin/core/system/private_folder.h>
#include <levin/trainer/compiled/compiled_code.h>
#include <levin/trainer/compiled/step_package.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include <exception>

namespace levin::compiled {
namespace {

class AotiCode final : public CompiledCode {
 public:
  explicit AotiCode(const std::filesystem::path& path)
      : loader_(path.string(), "model", /*run_single_threaded=*/true) {}
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) override { return loader_.run(inputs); }

 private:
  torch::inductor::AOTIModelPackageLoader loader_;
};

}  // namespace

std::unique_ptr<CompiledCode> load_compiled_code(const std::filesystem::path& path) try {
  // The loader would leave its own copy behind when the process is killed; this one is gone once the code is loaded.
  const PrivateFolder folder("compiled_step");
  StepPackage(path).unpack_code(folder.path());
  return std::make_unique<AotiCode>(folder.path());
} catch (const std::exception& error) {
  throw UsageError(
      "trainer.compiled_step: ", path.string(), ": its code cannot be loaded: ", message_of(error),
      " (it is unpacked to the temporary folder, which TMPDIR names and from which programs must be allowed "
      "to run)");
}

}  // namespace levin::compiled
