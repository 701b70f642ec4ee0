#pragma once
#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>
#include <c10/util/intrusive_ptr.h>

#include <memory>
#include <optional>

namespace c10d {
class CommHookInterface;
class ProcessGroup;
}  // namespace c10d

namespace levin::parallel {

/// Returns whether a group has a reduce-scatter of its own, as NCCL has. Gloo reduces the whole buffer on every rank.
bool has_reduce_scatter(c10d::ProcessGroup& group, c10::DeviceType device);

/// Makes the hook by which a c10d::Reducer averages a full bucket of gradients over all ranks. `sent_as`: the dtype in
/// which gradients are sent. `shards`: only this rank's shard of the bucket (Shard) is averaged; the rest is undefined.
/// Source: torch.distributed.algorithms.ddp_comm_hooks.default_hooks.
std::unique_ptr<c10d::CommHookInterface> make_reduction_hook(c10::intrusive_ptr<c10d::ProcessGroup> group,
                                                             std::optional<c10::ScalarType> sent_as, bool shards);

}  // namespace levin::parallel
