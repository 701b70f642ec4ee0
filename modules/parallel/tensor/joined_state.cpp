#include <levin/modules/parallel/tensor/joined_state.h>
#include <levin/core/ranks/process_group.h>
#include <levin/core/system/error.h>
#include <levin/modules/optim/engine/saved_state.h>
#include <levin/modules/parallel/tensor/tensor_collectives.h>
#include <levin/modules/parallel/tensor/tensor_parallel.h>

#include <functional>
#include <map>
#include <string>

namespace levin::parallel {

TensorGroup tensor_group_of(const torch::nn::Module& module) {
  if (const auto* const itself = dynamic_cast<const TensorParallel*>(&module); itself && itself->is_divided())
    return itself->tensor_group();
  for (const auto& part : module.modules(/*include_self=*/false))
    if (const auto* const parallel = dynamic_cast<const TensorParallel*>(part.get());
        parallel && parallel->is_divided())
      return parallel->tensor_group();
  return nullptr;
}

namespace {

/// Visits each tensor in the state of a divided parameter.
void for_each_divided(State& state, const std::vector<at::Tensor>& parameters,
                      const std::vector<const Partition*>& partitions,
                      const std::function<void(State& value, const at::Tensor& parameter, const Partition&)>& visit) {
  size_t next = 0;
  for (const State& group : state.at("param_groups").items())
    for (const State& index : group.at("params").items()) {
      const size_t place = next++;
      if (place >= parameters.size())
        throw UsageError(
            "tensor parallelism: the optimizer has more parameters than configure_optimizers gave it; add groups "
            "there");
      if (partitions[place] == nullptr || optim::detail::saved_values(state, index.to_int()) == nullptr) continue;
      for (auto& [name, value] : state["state"][index.to_int()].to_dict())
        if (value.is_tensor()) visit(value, parameters[place], *partitions[place]);
    }
}

}  // namespace

State join_tensors(const torch::nn::Module& module, const State& by_name) {
  const std::map<std::string, Partition> partitions = partitions_of(module);
  if (partitions.empty()) return by_name;
  const TensorGroup group = tensor_group_of(module);
  State whole = State::dict();
  for (const auto& [name, value] : by_name.to_dict()) {
    const auto partition = partitions.find(to_text(name));
    State joined =
        partition == partitions.end() ? value : State(gather_parts(value.to_tensor(), partition->second, *group));
    if (group->rank() == 0) whole.to_dict().emplace_back(name, std::move(joined));
  }
  return whole;
}

void join_optimizer_state(State& state, const std::vector<at::Tensor>& parameters,
                          const std::vector<const Partition*>& partitions, ProcessGroup& group) {
  for_each_divided(state, parameters, partitions,
                   [&](State& value, const at::Tensor& parameter, const Partition& partition) {
                     if (value.to_tensor().sizes() != parameter.sizes()) return;  // a number, the same on all ranks
                     const at::Tensor whole = gather_parts(value.to_tensor(), partition, group);
                     value = group.rank() == 0 ? State(whole) : State();
                   });
}

State own_optimizer_state(const State& whole, const std::vector<at::Tensor>& parameters,
                          const std::vector<const Partition*>& partitions) {
  State own = whole;
  for_each_divided(own, parameters, partitions,
                   [](State& value, const at::Tensor& parameter, const Partition& partition) {
                     if (partition.is_whole(value.to_tensor(), parameter))
                       value = partition.part_of(value.to_tensor()).clone(at::MemoryFormat::Contiguous);
                   });
  return own;
}

}  // namespace levin::parallel
