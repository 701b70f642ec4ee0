#pragma once
#include <levin/core/ranks/process_group.h>
#include <levin/modules/optim/optimizers/muon.h>
#include <levin/modules/parallel/ranks/sharded_memory.h>

#include <functional>
#include <optional>

namespace levin::parallel {

/// Where a part that an optimizer steps lies.
using PlaceOfPart = std::function<const ShardPart&(const at::Tensor& part)>;
/// Whether a parameter is one that Muon steps, and not AdamW beside it.
using IsOfMuon = std::function<bool(const at::Tensor& parameter)>;

/// Ends a step of Muon over parts: for each block with matrices the parts of their updates are gathered from all ranks,
/// and each rank orthogonalizes the matrices of which it has a part. Collective: all ranks call it.
void add_whole_updates(optim::Muon& muon, const ShardedMemory& memory, ProcessGroup& group, const PlaceOfPart& place_of,
                       const IsOfMuon& is_of_muon);

}  // namespace levin::parallel
