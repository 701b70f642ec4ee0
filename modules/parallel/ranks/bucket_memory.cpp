#include <levin/modules/parallel/ranks/bucket_memory.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <levin/core/ranks/rank_memory.h>
#include <levin/core/system/error.h>
#include <levin/modules/parallel/ranks/gather_shards.h>
#include <levin/modules/parallel/ranks/shard.h>

#include <set>

namespace levin::parallel {

BucketMemory::BucketMemory(const GradientReducer& reducer) : reducer_(reducer) { begin_again(); }

void BucketMemory::begin_again() {
  blocks_.clear();
  whole_.clear();
  for (const std::vector<at::Tensor>& bucket : reducer_.buckets()) flatten(bucket);
}

void BucketMemory::follow() {
  std::set<const void*> held;
  for (const MemoryBlock& block : blocks_)
    for (const at::Tensor& parameter : block.parameters) held.insert(parameter.unsafeGetTensorImpl());
  for (const std::vector<at::Tensor>& bucket : reducer_.buckets())
    if (held.count(bucket.front().unsafeGetTensorImpl()) == 0) flatten(bucket);
}

void BucketMemory::flatten(const std::vector<at::Tensor>& bucket) {
  const at::NoGradGuard no_grad;
  int64_t size = 0;
  for (const at::Tensor& parameter : bucket) {
    if (!parameter.is_non_overlapping_and_dense())
      throw UsageError("zero1: a parameter of shape ", parameter.sizes(), " and strides ", parameter.strides(),
                       " has gaps, or elements that share memory; make it contiguous");
    size += parameter.numel();
  }
  const ProcessGroup& group = reducer_.group();
  const int64_t rank = group.rank(), world_size = group.world_size(), each = shard_size(size, world_size);
  const at::Tensor all = at::zeros({each * world_size}, bucket.front().detach().options());
  make_mappable(all.storage(), *group.raw());
  int64_t offset = 0;
  for (at::Tensor parameter : bucket) {
    parameter.set_data(all.as_strided(parameter.sizes(), parameter.strides(), offset).copy_(parameter));
    offset += parameter.numel();
  }
  blocks_.push_back({.own = all.narrow(0, rank * each, each), .size = size, .parameters = bucket});
  whole_.push_back(all);
}

at::Tensor BucketMemory::gradient(const ShardPart& part) const {
  const at::Tensor& gradient = blocks_[part.block].parameters[part.parameter].grad();
  return gradient.defined() ? elements(gradient, part.begin, part.size) : at::Tensor();
}

void BucketMemory::check() const {
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const auto* place = static_cast<const char*>(whole_[i].const_data_ptr());
    for (const at::Tensor& parameter : blocks_[i].parameters) {
      if (parameter.numel() > 0 && parameter.const_data_ptr() != place)
        throw UsageError("zero1: a parameter of shape ", parameter.sizes(),
                         " was given other memory after configure_optimizers; move and replace parameters before it");
      place += parameter.nbytes();
    }
  }
}

void BucketMemory::shards_changed() {
  const at::NoGradGuard no_grad;
  ProcessGroup& group = reducer_.group();
  group.guarded("all_gather", [&] {
    PendingWorks works;
    for (size_t i = 0; i < blocks_.size(); ++i) begin_gather(group, whole_[i], blocks_[i].own, works);
    works.wait();
  });
}

}  // namespace levin::parallel
