#include <levin/modules/parallel/tensor/dropout_of_part.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <levin/core/ranks/process_group.h>

#include <vector>

namespace levin::parallel {

at::Tensor dropout_of_part(const at::Tensor& part, int64_t dim, double rate, const TensorGroup& group) {
  const int64_t own = part.size(dim);
  std::vector<int64_t> whole = part.sizes().vec();
  whole[static_cast<size_t>(dim < 0 ? dim + part.dim() : dim)] = own * group->world_size();
  const at::Tensor kept = at::empty(whole, part.options()).bernoulli_(1 - rate);
  return part * (kept.narrow(dim, group->rank() * own, own) / (1 - rate));
}

}  // namespace levin::parallel
