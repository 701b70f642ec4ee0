#pragma once
#include <c10/core/ScalarType.h>
#include <c10/util/intrusive_ptr.h>

#include <memory>
#include <optional>

namespace c10d {
class CommHookInterface;
class ProcessGroup;
}  // namespace c10d

namespace levin::parallel {

/// What a c10d::Reducer does with a bucket of gradients that is full: makes it the mean over all ranks.
/// `sent_as`: as what the gradients travel. `shards`: only this rank's share of the bucket (Shard) has to become that;
/// the rest of it is then not defined.
/// Source: torch.distributed.algorithms.ddp_comm_hooks.default_hooks.
std::unique_ptr<c10d::CommHookInterface> make_reduction_hook(c10::intrusive_ptr<c10d::ProcessGroup> group,
                                                             std::optional<c10::ScalarType> sent_as, bool shards);

}  // namespace levin::parallel
