#include <levin/modules/parallel/tensor/divide_module.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <levin/core/ranks/process_group.h>
#include <levin/core/ranks/torch_compat/autograd_node.h>
#include <levin/core/system/error.h>
#include <levin/modules/adapters/lora.h>
#include <levin/modules/parallel/tensor/tensor_collectives.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace levin::parallel {
namespace {

/// Gives a parameter a value of another size, and keeps the tensor object.
void replace_value(at::Tensor parameter, const at::Tensor& value) {
  parameter.mutable_grad().reset();
  parameter.set_data(value);
  torch_compat::renew_grad_accumulator(parameter);
}

void for_each_part(torch::nn::Module& module, const std::function<void(TensorParallel&)>& visit) {
  if (auto* const itself = dynamic_cast<TensorParallel*>(&module)) visit(*itself);
  for (const auto& part : module.modules(/*include_self=*/false))
    if (auto* const parallel = dynamic_cast<TensorParallel*>(part.get())) visit(*parallel);
}

/// Gives what each rank holds whole the values of rank 0.
void broadcast_whole_tensors(torch::nn::Module& module, ProcessGroup& group) {
  const std::map<std::string, Partition> divided = partitions_of(module);
  std::set<const void*> sent;
  for (const auto& item : module.named_parameters()) {
    if (divided.count(item.key()) != 0 || !sent.insert(item.value().unsafeGetTensorImpl()).second) continue;
    at::Tensor values = item.value().detach();
    group.broadcast(values, /*source=*/0);
  }
  for (at::Tensor& buffer : module.buffers()) group.broadcast(buffer, /*source=*/0);
}

}  // namespace

void TensorParallel::divide(const TensorGroup& group) {
  const int64_t rank = group->rank(), ranks = group->world_size();
  if (group_) {
    if (ranks_ != ranks || rank_ != rank)
      throw UsageError("tensor parallelism: a module that ", ranks_, " ranks hold parts of cannot be divided among ",
                       ranks, "; join it first");
    return;
  }
  check_division(ranks);
  const at::NoGradGuard no_grad;
  const c10::InferenceMode normal_tensors(false);
  for (const DividedParameter& one : parameters_on(rank, ranks)) {
    at::Tensor whole = one.parameter.detach();
    group->broadcast(whole, /*source=*/0);
    replace_value(one.parameter, one.partition.part_of(whole).clone(at::MemoryFormat::Contiguous));
  }
  group_ = group;
  rank_ = rank;
  ranks_ = ranks;
}

void TensorParallel::join() {
  if (!group_) return;
  const at::NoGradGuard no_grad;
  const c10::InferenceMode normal_tensors(false);
  for (const DividedParameter& one : divided_parameters())
    replace_value(one.parameter, gather_parts(one.parameter.detach(), one.partition, *group_));
  group_.reset();
}

void divide_module(torch::nn::Module& module, const TensorGroup& group) {
  for (const AdaptedLayer& one : adapted_layers(module))
    if (dynamic_cast<const TensorParallel*>(one.layer.get()) != nullptr)
      throw UsageError("tensor parallelism: ", one.name,
                       " has an adapter, which needs the whole layer; set trainer.mesh.tensor to 1 (fsdp divides "
                       "the memory of adapted modules), or train without adapters");
  bool found = false;
  for_each_part(module, [&](TensorParallel& part) {
    found = true;
    part.check_division(group->world_size());
  });
  if (!found)
    throw UsageError(
        "tensor parallelism: the module has no part that ranks can divide; build it from "
        "levin::parallel::ColumnLinear, RowLinear and VocabularyEmbedding, as levin's GPT is, or set "
        "trainer.mesh.tensor to 1");
  for_each_part(module, [&](TensorParallel& part) { part.divide(group); });
  const at::NoGradGuard no_grad;
  const c10::InferenceMode normal_tensors(false);
  broadcast_whole_tensors(module, *group);
}

void join_module(torch::nn::Module& module) {
  for_each_part(module, [](TensorParallel& part) { part.join(); });
}

}  // namespace levin::parallel
