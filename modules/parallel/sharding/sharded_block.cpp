#include <levin/modules/parallel/sharding/sharded_block.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <levin/core/system/error.h>
#include <levin/modules/parallel/ranks/shard.h>

#include <algorithm>
#include <utility>

namespace levin::parallel {

ShardedBlock::ShardedBlock(std::vector<std::string> names, const std::vector<at::Tensor>& parameters,
                           WatchedMemory& owner, int64_t rank, int64_t world_size)
    : names_(std::move(names)), owner_(owner), rank_(rank) {
  const at::NoGradGuard no_grad;
  memory_.parameters = parameters;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].is_complex())
      throw UsageError("fsdp: the parameter ", names_[i],
                       " is complex; register it as pairs of real numbers (torch::view_as_real), or use ddp or zero1");
    if (!parameters[i].is_non_overlapping_and_dense())
      throw UsageError("fsdp: the parameter ", names_[i], " of shape ", parameters[i].sizes(), " and strides ",
                       parameters[i].strides(), " has gaps, or elements that share memory; make it contiguous");
    memory_.size += parameters[i].numel();
  }
  const at::TensorOptions options = parameters.front().detach().options();
  const int64_t each = shard_size(memory_.size, world_size);
  memory_.own = at::zeros({each}, options);
  const auto bytes = static_cast<size_t>(each * world_size) * options.dtype().itemsize();
  storage_ = at::Storage(at::Storage::use_byte_size_t(), bytes, c10::DataPtr(nullptr, options.device()),
                         /*allocator=*/nullptr, /*resizable=*/false);
  set_watched(storage_, owner_, nullptr);
  whole_ = at::empty({0}, options).set_(storage_, 0, {each * world_size}, {1});
  int64_t offset = 0;
  for (at::Tensor parameter : parameters) {
    const int64_t first = std::max(offset, rank * each), last = std::min(offset + parameter.numel(), (rank + 1) * each);
    const MemoryUse whole(parameter);
    if (first < last)
      memory_.own.narrow(0, first - rank * each, last - first)
          .copy_(elements(parameter.detach(), first - offset, last - first));
    parameter.set_data(at::empty({0}, options).set_(storage_, offset, parameter.sizes(), parameter.strides()));
    offset += parameter.numel();
  }
}

ShardedBlock::~ShardedBlock() {
  if (!is_kept_) storage_.unsafeGetStorageImpl()->set_data_ptr_noswap({nullptr, storage_.device()});
}

OwnPart ShardedBlock::own_part(const at::Tensor& parameter) const {
  const int64_t each = memory_.own.numel(), begin = rank_ * each;
  const int64_t offset = parameter.storage_offset(), end = offset + parameter.numel();
  const int64_t first = std::clamp(begin, offset, end), last = std::clamp(begin + each, offset, end);
  const int64_t in_shard = std::clamp<int64_t>(first - begin, 0, each);
  return {.values = memory_.own.narrow(0, in_shard, last - first), .begin = first - offset, .in_shard = in_shard};
}

at::Tensor ShardedBlock::shard_of_rank(const at::Tensor& whole) const {
  const int64_t each = memory_.own.numel();
  return whole.narrow(0, rank_ * each, each);
}

void ShardedBlock::set_data(void* data) { set_watched(storage_, owner_, data); }

void ShardedBlock::keep_whole() {
  set_unwatched(storage_);
  is_kept_ = true;
}

void ShardedBlock::check() const {
  for (size_t i = 0; i < names_.size(); ++i)
    if (memory_.parameters[i].numel() > 0 && !holds(memory_.parameters[i]))
      throw UsageError("fsdp: the parameter ", names_[i],
                       " was given other memory after configure_optimizers; move and replace parameters before it");
}

}  // namespace levin::parallel
