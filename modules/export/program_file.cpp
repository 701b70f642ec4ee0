#include <levin/modules/export/program_file.h>
#include <levin/core/system/error.h>

#include <map>
#include <string>

namespace levin::program {
namespace {

/// Returns the module's parameters and buffers, each of which was compared with the file's, and the file's constants.
std::map<std::string, at::Tensor> compared_tensors(const ProgramArchive& archive, const torch::nn::Module& module) {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& item : module.named_parameters()) tensors[item.key()] = item.value();
  for (const auto& item : module.named_buffers()) tensors[item.key()] = item.value();
  for (const auto& [name, tensor] : tensors)
    if (!archive.holds(name, tensor)) throw UsageError(archive.file(), ": '", name, "' was not written as it is");
  for (const Input& input : archive.program().inputs)
    if (input.kind == InputKind::Constant) tensors[input.target] = archive.constant(input.target);
  return tensors;
}

}  // namespace

ProgramFile::ProgramFile(const std::filesystem::path& path, torch::nn::Module& module)
    : archive_(path), program_(archive_.program(), archive_.file(), compared_tensors(archive_, module)) {
  const auto parts = module.named_modules("", /*include_self=*/false);
  program_.runner().follow_modes([&](const std::string& part) -> const torch::nn::Module* {
    const auto* const found = parts.find(part);
    return found == nullptr ? &module : found->get();
  });
}

}  // namespace levin::program
