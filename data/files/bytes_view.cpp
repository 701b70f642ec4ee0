#include <levin/data/files/bytes_view.h>
#include <ATen/ops/from_blob.h>

#include <utility>

namespace levin::data {

at::Tensor bytes_view(const void* data, int64_t bytes, std::shared_ptr<const void> owner) {
  return at::from_blob(
      const_cast<void*>(data), {bytes}, [owner = std::move(owner)](void*) {}, at::TensorOptions(at::kByte));
}

}  // namespace levin::data
