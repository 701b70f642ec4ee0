#include <levin/core/device/memory_format.h>
#include <c10/core/MemoryFormat.h>

#include <cstdint>
#include <vector>

namespace levin {
namespace {

/// With one channel or one-pixel images both formats have the same layout; operations choose by the strides.
at::Tensor laid_out(const at::Tensor& tensor, at::MemoryFormat format, const std::vector<int64_t>& strides) {
  const at::Tensor result = tensor.contiguous(format);
  return result.strides() == at::IntArrayRef(strides) ? result : result.as_strided(result.sizes(), strides);
}

}  // namespace

at::Tensor channels_last(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.layout() != at::kStrided) return tensor;
  if (tensor.dim() == 4)
    return laid_out(tensor, at::MemoryFormat::ChannelsLast, c10::get_channels_last_strides_2d(tensor.sizes()));
  if (tensor.dim() == 5)
    return laid_out(tensor, at::MemoryFormat::ChannelsLast3d, c10::get_channels_last_strides_3d(tensor.sizes()));
  return tensor;
}

}  // namespace levin
