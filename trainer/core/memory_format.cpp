#include <levin/trainer/core/memory_format.h>

namespace levin {

at::Tensor channels_last(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.layout() != at::kStrided) return tensor;
  if (tensor.dim() == 4) return tensor.contiguous(at::MemoryFormat::ChannelsLast);
  if (tensor.dim() == 5) return tensor.contiguous(at::MemoryFormat::ChannelsLast3d);
  return tensor;
}

}  // namespace levin
