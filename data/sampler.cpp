#include <levin/data/sampler.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/randperm.h>
#include <levin/data/rng.h>

#include <utility>

namespace levin::data {
namespace {

class RangeOrder final : public SampleOrder {
 public:
  explicit RangeOrder(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  Indices at(int64_t position, int64_t count) const override { return Indices(position, count); }

 private:
  int64_t size_;
};

class TensorOrder final : public SampleOrder {
 public:
  explicit TensorOrder(at::Tensor indices) : indices_(std::move(indices)) {}
  int64_t size() const override { return indices_.size(0); }
  Indices at(int64_t position, int64_t count) const override { return Indices(indices_.narrow(0, position, count)); }

 private:
  at::Tensor indices_;
};

}  // namespace

std::shared_ptr<const SampleOrder> SequentialSampler::order(uint64_t /*seed*/, int64_t /*epoch*/) const {
  return std::make_shared<RangeOrder>(size_);
}

std::shared_ptr<const SampleOrder> RandomSampler::order(uint64_t seed, int64_t epoch) const {
  // The CPU generator keeps 32 bits of its seed, so seed and epoch are mixed into them.
  const uint32_t mixed = Rng(seed, epoch, -1)();
  return tensor_order(at::randperm(size_, at::detail::createCPUGenerator(mixed), at::TensorOptions(at::kLong)));
}

std::shared_ptr<const SampleOrder> tensor_order(at::Tensor indices) {
  return std::make_shared<TensorOrder>(indices.to(at::kCPU, at::kLong).contiguous());
}

}  // namespace levin::data
