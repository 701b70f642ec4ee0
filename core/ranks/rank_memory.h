#pragma once
#include <c10/core/Storage.h>

namespace c10d {
class ProcessGroup;
}  // namespace c10d

namespace levin {

/// Returns whether the ranks of a group are all on one machine, and exchange tensors on the CPU through its memory.
bool share_memory(c10d::ProcessGroup& group);

/// Moves the bytes of a storage into memory that the other ranks of this machine can map, so that collectives of
/// `group` read them where they lie. Leaves it as it is if the ranks share no memory, the system has none, or it is too
/// small for that to gain. No pointer to the bytes may be in use.
void make_mappable(const c10::Storage& storage, c10d::ProcessGroup& group);

}  // namespace levin
