#include <levin/modules/parallel/ranks/module_shapes.h>
#include <c10/util/hash.h>
#include <levin/core/ranks/gather_states.h>

#include <algorithm>

namespace levin::parallel {
namespace {

/// Lists names and shapes: ["net.weight", "the shape [3, 4]", ...].
State shapes_of(const torch::nn::Module& module) {
  State shapes = State::list();
  const auto add = [&](const auto& named) {
    for (const auto& item : named) {
      shapes.push_back(item.key());
      shapes.push_back(c10::str("the shape ", item.value().sizes(), " in ", item.value().scalar_type()));
    }
  };
  add(module.named_parameters());
  add(module.named_buffers());
  return shapes;
}

}  // namespace

std::vector<at::Tensor> tensors_of(const torch::nn::Module& module) {
  std::vector<at::Tensor> tensors;
  for (const at::Tensor& parameter : module.parameters()) tensors.push_back(parameter.detach());
  for (const at::Tensor& buffer : module.buffers()) tensors.push_back(buffer.detach());
  return tensors;
}

size_t hash_of_shapes(const torch::nn::Module& module) {
  const std::vector<at::Tensor> tensors = tensors_of(module);
  size_t hash = tensors.size();
  for (const at::Tensor& tensor : tensors) {
    hash = c10::hash_combine(hash, static_cast<size_t>(tensor.scalar_type()));
    for (const int64_t size : tensor.sizes()) hash = c10::hash_combine(hash, static_cast<size_t>(size));
  }
  return hash;
}

std::string difference_of_shapes(const torch::nn::Module& module, Comm& comm) {
  const std::vector<State> all = gather_states(shapes_of(module), comm);
  const State::List& first = all.front().items();
  for (size_t rank = 1; rank < all.size(); ++rank) {
    const State::List& other = all[rank].items();
    for (size_t i = 0; i + 1 < std::min(first.size(), other.size()); i += 2) {
      const std::string &name = first[i].to_string(), &its_name = other[i].to_string();
      const std::string &shape = first[i + 1].to_string(), &its_shape = other[i + 1].to_string();
      if (name != its_name) return c10::str("rank 0 has ", name, " where rank ", rank, " has ", its_name);
      if (shape != its_shape) return c10::str(name, " has ", shape, " on rank 0 and ", its_shape, " on rank ", rank);
    }
    if (first.size() != other.size())
      return c10::str("rank 0 has ", first.size() / 2, " parameters and buffers, rank ", rank, " has ",
                      other.size() / 2);
  }
  return "the ranks' parameters are the same now";
}

}  // namespace levin::parallel
