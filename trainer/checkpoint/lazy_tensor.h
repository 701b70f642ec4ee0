#pragma once
#include <levin/core/state/sharded_state.h>

namespace levin {

/// Returns a tensor on the CPU that takes no memory until an operation uses it, in a parallel::WatchScope: then it is
/// put together from its slices, and given up after the operation, unless that wrote to it. Outside of a WatchScope it
/// must not be read (WatchedMemory).
at::Tensor lazy_tensor(const ShardedTensor& sharded);

}  // namespace levin
