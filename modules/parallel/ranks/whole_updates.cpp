#include <levin/modules/parallel/ranks/whole_updates.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <levin/modules/parallel/ranks/gather_shards.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace levin::parallel {
namespace {

/// Returns where a block's parameter begins.
int64_t offset_in(const MemoryBlock& block, size_t parameter) {
  int64_t offset = 0;
  for (size_t i = 0; i < parameter; ++i) offset += block.parameters[i].numel();
  return offset;
}

}  // namespace

void add_whole_updates(optim::Muon& muon, const ShardedMemory& memory, ProcessGroup& group, const PlaceOfPart& place_of,
                       const IsOfMuon& is_of_muon) {
  const at::NoGradGuard no_grad;
  const std::vector<optim::Muon::PartUpdate> updates = muon.take_updates();
  for (size_t b = 0; b < memory.blocks().size(); ++b) {
    const MemoryBlock& block = memory.blocks()[b];
    if (!std::ranges::any_of(block.parameters, is_of_muon)) continue;
    const at::Tensor own = at::zeros(block.own.sizes(), block.own.options().requires_grad(false));
    for (const auto& one : updates)
      if (const ShardPart& place = place_of(one.part); place.block == b)
        own.narrow(0, place.in_shard, place.size).copy_(one.update);
    const at::Tensor all = at::empty({own.numel() * group.world_size()}, own.options());
    group.guarded("all_gather", [&] {
      PendingWorks works;
      begin_gather(group, all, own, works);
      works.wait();
    });
    for (const auto& one : updates) {
      const ShardPart& place = place_of(one.part);
      if (place.block != b) continue;
      const at::Tensor& matrix = block.parameters[place.parameter];
      muon.add_whole_update(one, all.as_strided(matrix.sizes(), matrix.strides(), offset_in(block, place.parameter)),
                            place.begin);
    }
  }
}

}  // namespace levin::parallel
