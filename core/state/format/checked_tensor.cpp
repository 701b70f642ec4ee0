#include <levin/core/state/format/checked_tensor.h>

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <c10/util/safe_numerics.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace levin {
void check_dimensions(const std::vector<int64_t>& sizes) {
  constexpr size_t kMost = 64;  // the limit of TensorIterator, which nearly all operations use
  TORCH_CHECK(sizes.size() <= kMost, "a tensor of ", sizes.size(), " dimensions; LibTorch computes with ", kMost);
}

uint64_t bytes_in_storage(at::ScalarType type, int64_t offset, const std::vector<int64_t>& sizes,
                          const std::vector<int64_t>& strides) {
  TORCH_CHECK(sizes.size() == strides.size(), "a tensor with ", sizes.size(), " sizes and ", strides.size(),
              " strides");
  check_dimensions(sizes);
  TORCH_CHECK(offset >= 0, "a tensor with the negative offset ", offset);
  // `count` is the number of elements, `last` the index of the last one; sizes, strides and both must fit in int64.
  uint64_t count = 1, last = static_cast<uint64_t>(offset);
  bool overflows = false, empty = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    TORCH_CHECK(sizes[i] >= 0 && strides[i] >= 0, "a tensor with a negative size or stride: sizes ", sizes,
                ", strides ", strides);
    const auto size = static_cast<uint64_t>(sizes[i]), stride = static_cast<uint64_t>(strides[i]);
    empty = empty || size == 0;
    uint64_t span = 0;
    overflows |= c10::mul_overflows(count, std::max<uint64_t>(size, 1), &count);
    overflows |= c10::mul_overflows(std::max<uint64_t>(size, 1) - 1, stride, &span);
    overflows |= c10::add_overflows(last, span, &last);
  }
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  const uint64_t width = c10::elementSize(type);
  overflows = overflows || count > kMax / width || last >= kMax / width;
  TORCH_CHECK(!overflows, "a tensor that is too large: sizes ", sizes, ", strides ", strides, ", offset ", offset);
  return empty ? 0 : (last + 1) * width;
}

at::Tensor view_of_storage(const c10::Storage& storage, at::ScalarType type, int64_t offset,
                           const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  const uint64_t bytes = bytes_in_storage(type, offset, sizes, strides);
  TORCH_CHECK(bytes <= storage.nbytes(), "a tensor of sizes ", sizes, ", strides ", strides, ", offset ", offset,
              " needs ", bytes, " bytes, its storage has ", storage.nbytes());
  // For an empty tensor, set_ with an offset beyond the end would make the storage grow.
  if (bytes == 0) return at::empty(sizes, at::TensorOptions(type));
  return at::empty({0}, at::TensorOptions(type)).set_(storage, offset, sizes, strides);
}

at::Tensor tensor_from_bytes(std::string_view bytes, at::ScalarType type, const std::vector<int64_t>& sizes) {
  check_dimensions(sizes);
  uint64_t count = 1;
  bool overflows = false;
  for (const int64_t size : sizes) {
    TORCH_CHECK(size >= 0, "an array with a negative size: ", sizes);
    overflows |= c10::mul_overflows(count, static_cast<uint64_t>(size), &count);
  }
  overflows |= c10::mul_overflows(count, static_cast<uint64_t>(c10::elementSize(type)), &count);
  TORCH_CHECK(!overflows && count == bytes.size(), "an array of sizes ", sizes, " with ", bytes.size(), " bytes");
  at::Tensor tensor = at::empty(sizes, at::TensorOptions(type));
  if (!bytes.empty()) std::memcpy(tensor.mutable_data_ptr(), bytes.data(), bytes.size());
  if (type == at::kBool) normalize_bools(tensor.storage());
  return tensor;
}

void normalize_bools(const c10::Storage& storage) {
  auto* bytes = static_cast<uint8_t*>(storage.mutable_data());
  // Valid bytes are not written: a write to a page of a mapped file would copy the page.
  std::for_each(bytes, bytes + storage.nbytes(), [](uint8_t& byte) {
    if (byte > 1) byte = 1;
  });
}

}  // namespace levin
