#include <levin/modules/export/program_file.h>
#include <levin/core/system/error.h>

namespace levin::program {

ProgramFile::ProgramFile(const std::filesystem::path& path, torch::nn::Module& module)
    : archive_(path), runner_(archive_.program(), archive_.file(), /*namespaces=*/{}) {
  for (const auto& item : module.named_parameters()) tensors_[item.key()] = item.value();
  for (const auto& item : module.named_buffers()) tensors_[item.key()] = item.value();
  for (const auto& [name, tensor] : tensors_) {
    // One weight at a time.
    const at::Tensor written = archive_.weights().contains(name) ? archive_.weight(name) : at::Tensor();
    if (!written.defined() || written.scalar_type() != tensor.scalar_type() || !written.equal(tensor.detach().cpu()))
      throw UsageError(archive_.file(), ": '", name, "' was not written as it is");
  }
  for (const Input& input : archive_.program().inputs)
    if (input.kind == InputKind::Constant) tensors_[input.target] = archive_.constant(input.target);
  const auto parts = module.named_modules("", /*include_self=*/false);
  runner_.follow_modes([&](const std::string& part) -> const torch::nn::Module* {
    const auto* const found = parts.find(part);
    return found == nullptr ? &module : found->get();
  });
}

std::vector<at::Tensor> ProgramFile::run(const std::vector<at::Tensor>& inputs) const {
  std::vector<c10::IValue> values;
  size_t next = 0;
  for (const Input& input : archive_.program().inputs)
    values.emplace_back(input.kind == InputKind::UserTensor ? inputs.at(next++) : tensors_.at(input.target));
  return runner_.run(std::move(values));
}

}  // namespace levin::program
