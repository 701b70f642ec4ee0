#include <levin/modules/transformers/save_module.h>
#include <ATen/core/grad_mode.h>
#include <levin/core/ranks/process_group.h>
#include <levin/modules/adapters/lora.h>
#include <levin/modules/parallel/tensor/joined_state.h>

#include <utility>

namespace levin::nn {

void save_module(LightningModule& module, const PretrainedFiles& files, const FileForm& form, const NamedWeights& more,
                 const std::filesystem::path& folder, uint64_t most_bytes) {
  const at::NoGradGuard no_grad;
  const bool in_run = module.in_run();
  const parallel::TensorGroup group = parallel::tensor_group_of(module);
  const bool writes = (!in_run || module.is_global_zero()) && (!group || group->rank() == 0);
  State state = State::dict();
  // Ranks that do not write take part: a weight that ranks have divided is whole for them all while they use it.
  for (const auto& [name, value] : merged_state_dict(module).to_dict()) {
    const at::Tensor& own = value.to_tensor();
    const at::Tensor copied = in_run ? own.to(at::kCPU, /*non_blocking=*/false, /*copy=*/true) : own;
    if (writes || group) state.to_dict().emplace_back(name, State(copied));
  }
  if (group) state = parallel::join_tensors(module, state);
  if (!writes) return;
  NamedWeights weights;
  for (const auto& [key, value] : state.to_dict()) {
    auto named = form(to_text(key), value.to_tensor());
    if (!named.first.empty()) weights.push_back(std::move(named));
  }
  weights.insert(weights.end(), more.begin(), more.end());
  write_pretrained_folder(files, weights, folder, most_bytes);
}

}  // namespace levin::nn
