#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstddef>
#include <vector>

namespace levin::parallel {

/// Memory that units use one after the other: a buffer that is given back is taken again before a new one is made.
class BufferPool {
 public:
  explicit BufferPool(c10::Device device) : device_(device) {}

  /// Returns a buffer of `bytes` bytes. Its content is undefined.
  at::Tensor take(size_t bytes);
  void give_back(at::Tensor buffer) { free_.push_back(std::move(buffer)); }
  /// Frees what nobody uses.
  void clear() { free_.clear(); }

 private:
  c10::Device device_;
  std::vector<at::Tensor> free_ = {};
};

}  // namespace levin::parallel
