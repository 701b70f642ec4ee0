#include <levin/modules/parallel/ranks/join.h>
#include <ATen/ops/full.h>

#include <vector>

namespace levin::parallel {

bool Join::goes_on(bool has_batch) {
  const at::Tensor own = at::full({1}, int64_t{has_batch}, at::TensorOptions(at::kLong));
  const std::vector<at::Tensor> all = reducer_.group().all_gather(own);
  ranks_ = 0;
  for (size_t rank = all.size(); rank-- > 0;) {
    if (all[rank].item<int64_t>() == 0) continue;
    reducer_.take_buffers_of(static_cast<int64_t>(rank));
    ++ranks_;
  }
  return ranks_ > 0;
}

void Join::backward_without_loss() {
  reducer_.synchronize_buffers();
  reducer_.backward_without_loss();
}

}  // namespace levin::parallel
