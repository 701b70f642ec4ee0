#include <levin/modules/parallel/tensor/tensor_parallel.h>

namespace levin::parallel {

std::vector<DividedParameter> TensorParallel::parameters_on(int64_t rank, int64_t ranks) const {
  std::vector<DividedParameter> divided;
  for (DividedParameter& one : divisible_parameters()) {
    if (!one.parameter.defined()) continue;
    one.partition.rank = rank;
    one.partition.ranks = ranks;
    divided.push_back(std::move(one));
  }
  return divided;
}

std::vector<DividedParameter> TensorParallel::divided_parameters() const {
  return group_ ? parameters_on(rank_, ranks_) : std::vector<DividedParameter>();
}

std::map<std::string, Partition> partitions_of(const torch::nn::Module& module) {
  std::map<std::string, Partition> partitions;
  const auto add = [&](const torch::nn::Module& part, const std::string& path) {
    const auto* const parallel = dynamic_cast<const TensorParallel*>(&part);
    if (parallel == nullptr) return;
    for (const DividedParameter& one : parallel->divided_parameters())
      partitions[path.empty() ? one.name : path + "." + one.name] = one.partition;
  };
  add(module, "");
  for (const auto& part : module.named_modules({}, /*include_self=*/false)) add(*part.value(), part.key());
  return partitions;
}

}  // namespace levin::parallel
