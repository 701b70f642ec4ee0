#include <levin/modules/parallel/sharding/buffer_pool.h>
#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>

namespace levin::parallel {

at::Tensor BufferPool::take(size_t bytes) {
  const auto found = std::find_if(free_.begin(), free_.end(), [&](const auto& one) { return one.nbytes() == bytes; });
  if (found != free_.end()) {
    at::Tensor buffer = std::move(*found);
    free_.erase(found);
    return buffer;
  }
  free_.clear();  // of other sizes, which would only add up
  const c10::InferenceMode normal_tensors(false);
  return at::empty({static_cast<int64_t>(bytes)}, at::TensorOptions(at::kByte).device(device_));
}

}  // namespace levin::parallel
