#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/ranks/process_group.h>
#include <levin/modules/parallel/ranks/pending_works.h>

namespace levin::parallel {

/// Starts to gather `own`, this rank's shard, and those of the other ranks of the group, in rank order, into `all`,
/// whose size is theirs together. Both are 1-dimensional and stay as they are until `works` have ended. It takes no
/// other memory. Gathers of one group end in the order in which they begin. Collective: all ranks call it.
void begin_gather(ProcessGroup& group, at::Tensor all, at::Tensor own, PendingWorks& works);

}  // namespace levin::parallel
