#include <levin/modules/parallel/replicas/replica_state.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sub.h>
#include <c10/core/InferenceMode.h>
#include <levin/core/system/error.h>
#include <levin/modules/parallel/replicas/move_flat.h>

#include <algorithm>
#include <numeric>
#include <span>

namespace levin::parallel {
namespace {

template <class Get>
std::vector<PairedTensors::Named> of_each(const std::vector<torch::nn::Module*>& modules, const Get& get) {
  std::vector<PairedTensors::Named> all;
  for (const torch::nn::Module* module : modules) all.push_back(get(*module));
  return all;
}

PairedTensors pair(PairedTensors::Kind kind, const torch::nn::Module& original,
                   const std::vector<torch::nn::Module*>& replicas, const std::vector<c10::Device>& devices,
                   PairedTensors::Named (torch::nn::Module::*named)(bool) const) {
  const auto get = [&](const torch::nn::Module& module) { return (module.*named)(/*recurse=*/true); };
  return {kind, get(original), of_each(replicas, get), devices};
}

/// Returns the module and all submodules, outer ones first.
std::vector<torch::nn::Module*> with_children(torch::nn::Module& module) {
  std::vector<torch::nn::Module*> all{&module};
  for (const auto& child : module.modules(/*include_self=*/false)) all.push_back(child.get());
  return all;
}

}  // namespace

ReplicaState::ReplicaState(torch::nn::Module& original, const std::vector<torch::nn::Module*>& replicas,
                           std::vector<c10::Device> devices, bool share_memory)
    : parameters_(
          pair(PairedTensors::Kind::Parameter, original, replicas, devices, &torch::nn::Module::named_parameters)),
      buffers_(pair(PairedTensors::Kind::Buffer, original, replicas, devices, &torch::nn::Module::named_buffers)),
      share_memory_(share_memory) {
  const std::vector<torch::nn::Module*> originals = with_children(original);
  for (torch::nn::Module* replica : replicas) {
    const std::vector<torch::nn::Module*> copies = with_children(*replica);
    if (copies.size() != originals.size())
      throw UsageError("a replica of ", original.name(), " has ", copies.size() - 1, " submodules, the original ",
                       originals.size() - 1, "; a replica must be made as its original was");
    for (size_t i = 0; i < copies.size(); ++i) modules_.emplace_back(originals[i], copies[i]);
  }
  // Whether a replica's parameter requires a gradient is determined only by its edge, which attach() sets.
  for (const ReplicaTensors& replica : parameters_.replicas())
    for (const auto& [tensor, index] : replica) tensor.set_requires_grad(false);
}

void ReplicaState::refresh() {
  const c10::InferenceMode no_inference(false);  // otherwise the replicas could never be trained
  const at::NoGradGuard no_grad;
  parameters_.refresh(share_memory_, std::exchange(expect_changes_, false));
  buffers_.refresh(/*share=*/false, /*all=*/false);
  copy_modes();
}

void ReplicaState::copy_modes() const {
  // train() sets a whole subtree, so inner modules come after outer ones.
  for (const auto& [original, replica] : modules_)
    if (replica->is_training() != original->is_training()) replica->train(original->is_training());
}

void ReplicaState::attach(size_t replicas) {
  if (!at::GradMode::is_enabled() || replicas == 0) return;
  attach_gradients(parameters_.originals(), std::span(parameters_.replicas()).first(replicas));
}

void ReplicaState::merge_buffers(const std::vector<double>& weights) {
  const size_t replicas = weights.size() - 1;
  const bool statistics = std::ranges::any_of(modules_, [](const auto& pair) { return pair.first->is_training(); });
  std::vector<size_t> changed = buffers_.changed_since_refresh(replicas, statistics);
  std::erase_if(changed, [&](size_t i) { return !buffers_.originals()[i].is_floating_point(); });
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (changed.empty() || replicas == 0 || sum == 0) return;

  const c10::InferenceMode no_inference(false);
  const at::NoGradGuard no_grad;
  const auto pick = [&](const auto& tensor_of) {
    std::vector<at::Tensor> tensors;
    for (const size_t i : changed) tensors.push_back(tensor_of(i));
    return tensors;
  };
  // Writes through data(), since a backward of this forward may have saved the buffers (batch_norm does not increment
  // version counters either). Adding the mean difference leaves values that are equal everywhere bitwise unchanged.
  const std::vector<at::Tensor> originals = pick([&](size_t i) { return buffers_.originals()[i].data(); });
  std::vector<at::Tensor> changes = at::_foreach_mul(originals, 0);
  for (size_t r = 0; r < replicas; ++r) {
    const auto values = pick([&](size_t i) { return buffers_.replica_tensor(r, i).data(); });
    const auto differences = at::_foreach_sub(move_flat(values, originals[0].device()), originals);
    at::_foreach_add_(changes, differences, weights[r + 1] / sum);
  }
  at::_foreach_add_(originals, changes);
}

}  // namespace levin::parallel
