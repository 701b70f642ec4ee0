#pragma once
#include <ATen/core/Tensor.h>
#include <levin/data/rng.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace levin::data {

/// The samples of one batch, in order, and the seed and epoch of their random numbers.
class Indices {
 public:
  Indices() = default;
  /// Samples start, start + 1, ..., start + size - 1.
  Indices(int64_t start, int64_t size) : start_(start), size_(size) {}
  explicit Indices(std::vector<int64_t> values)
      : size_(static_cast<int64_t>(values.size())), values_(std::move(values)) {
    is_range_ = false;
  }

  int64_t size() const { return size_; }
  /// Returns whether the samples are known to be consecutive: start(), start() + 1, ...
  bool is_range() const { return is_range_; }
  int64_t start() const { return start_; }
  int64_t operator[](int64_t i) const { return is_range_ ? start_ + i : values_[static_cast<size_t>(i)]; }

  /// Goes through the samples, as in `for (const int64_t index : indices)`.
  class Iterator {
   public:
    using value_type = int64_t;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    Iterator(const Indices& indices, int64_t at) : indices_(&indices), at_(at) {}
    int64_t operator*() const { return (*indices_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++at_;
      return before;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const Indices* indices_ = nullptr;
    int64_t at_ = 0;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size_}; }

  /// Returns a copy as int64 [samples] on the CPU.
  at::Tensor tensor() const;

  /// Sets the samples to start, start + 1, ..., start + size - 1.
  void set_range(int64_t start, int64_t size);
  /// Resizes the list to `size` samples, which the caller writes into the returned span. Reuses memory.
  std::span<int64_t> resize(int64_t size);

  /// Returns the random numbers of sample `index`; see Rng for `stream`.
  Rng rng(int64_t index, uint64_t stream = 0) const { return Rng(seed, epoch, index, stream); }

  uint64_t seed = 0;
  int64_t epoch = 0;

 private:
  int64_t start_ = 0, size_ = 0;
  bool is_range_ = true;
  std::vector<int64_t> values_ = {};
};

}  // namespace levin::data
