#include <levin/modules/parallel/sharding/narrow_memory.h>

#include <algorithm>
#include <cstdint>

namespace levin::parallel {
namespace {

/// At most this many elements are copied first, where source and destination overlap.
constexpr int64_t kSmall = 4096;

at::Tensor bytes_as(const at::Tensor& wide, int64_t first, int64_t bytes, at::ScalarType dtype) {
  return wide.view(at::kByte).narrow(0, first, bytes).view(dtype);
}

int64_t bytes_in(const at::Tensor& wide, at::ScalarType dtype) {
  return wide.numel() * static_cast<int64_t>(c10::elementSize(dtype));
}

}  // namespace

std::optional<at::ScalarType> narrower(at::ScalarType own, std::optional<at::ScalarType> dtype) {
  if (dtype && at::isFloatingType(own) && c10::elementSize(*dtype) < c10::elementSize(own)) return dtype;
  return {};
}

at::Tensor narrow_end(const at::Tensor& wide, at::ScalarType dtype) {
  const int64_t bytes = bytes_in(wide, dtype);
  return bytes_as(wide, static_cast<int64_t>(wide.nbytes()) - bytes, bytes, dtype);
}

void widen(const at::Tensor& wide, at::ScalarType dtype) {
  const at::Tensor from = narrow_end(wide, dtype);
  const int64_t size = wide.numel();
  int64_t done = 0;
  // The first half of what is left lies before the bytes that hold what is left.
  while (size - done > kSmall) {
    const int64_t half = (size - done) / 2;
    wide.narrow(0, done, half).copy_(from.narrow(0, done, half));
    done += half;
  }
  wide.narrow(0, done, size - done).copy_(from.narrow(0, done, size - done).clone());
}

at::Tensor narrow(const at::Tensor& wide, at::ScalarType dtype) {
  at::Tensor to = bytes_as(wide, 0, bytes_in(wide, dtype), dtype);
  const int64_t size = wide.numel();
  int64_t done = std::min(size, kSmall);
  to.narrow(0, 0, done).copy_(wide.narrow(0, 0, done).clone());
  // As many elements again as are done end in memory whose elements are done.
  while (done < size) {
    const int64_t next = std::min(done, size - done);
    to.narrow(0, done, next).copy_(wide.narrow(0, done, next));
    done += next;
  }
  return to;
}

}  // namespace levin::parallel
