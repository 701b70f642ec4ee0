#pragma once
#include <ATen/core/Tensor.h>
#include <levin/data/rng.h>

#include <cstdint>
#include <utility>

namespace levin::data {

/// Which samples make one batch, in order, and what their random numbers depend on.
class Indices {
 public:
  /// Samples start, start + 1, ..., start + size - 1.
  Indices(int64_t start, int64_t size) : start_(start), size_(size) {}
  /// `indices` int64 [samples], contiguous, on the CPU.
  explicit Indices(at::Tensor indices) : size_(indices.size(0)), tensor_(std::move(indices)) {
    values_ = tensor_.const_data_ptr<int64_t>();
  }

  int64_t size() const { return size_; }
  /// Whether the samples are consecutive: start(), start() + 1, ...
  bool is_range() const { return values_ == nullptr; }
  int64_t start() const { return start_; }
  int64_t operator[](int64_t i) const { return values_ ? values_[i] : start_ + i; }
  /// int64 [samples] on the CPU; made here for a range.
  at::Tensor tensor() const;

  /// The random numbers of sample `index`.
  Rng rng(int64_t index) const { return Rng(seed, epoch, index); }

  uint64_t seed = 0;
  int64_t epoch = 0;

 private:
  int64_t start_ = 0, size_;
  at::Tensor tensor_ = {};
  const int64_t* values_ = nullptr;
};

}  // namespace levin::data
