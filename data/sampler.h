#pragma once
#include <ATen/core/Tensor.h>
#include <levin/data/indices.h>

#include <cstdint>
#include <memory>

namespace levin::data {

/// The order of one epoch's samples, by position; never changes, so it can be shared between threads.
class SampleOrder {
 public:
  virtual ~SampleOrder() = default;
  virtual int64_t size() const = 0;
  /// The samples at [position, position + count).
  virtual Indices at(int64_t position, int64_t count) const = 0;
};

/// Makes the order of each epoch, which depends on (seed, epoch) alone.
class Sampler {
 public:
  virtual ~Sampler() = default;
  /// Samples of one epoch.
  virtual int64_t size() const = 0;
  virtual std::shared_ptr<const SampleOrder> order(uint64_t seed, int64_t epoch) const = 0;
};

/// 0, 1, 2, ...
class SequentialSampler final : public Sampler {
 public:
  explicit SequentialSampler(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  std::shared_ptr<const SampleOrder> order(uint64_t seed, int64_t epoch) const override;

 private:
  int64_t size_;
};

/// Every sample once, in an order drawn anew for each epoch.
class RandomSampler final : public Sampler {
 public:
  explicit RandomSampler(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  std::shared_ptr<const SampleOrder> order(uint64_t seed, int64_t epoch) const override;

 private:
  int64_t size_;
};

/// The order that `indices` (int64 [samples], on the CPU) gives; what most own samplers return.
std::shared_ptr<const SampleOrder> tensor_order(at::Tensor indices);

}  // namespace levin::data
