#pragma once
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

// The collectives on flat memory, whose names have changed in 2.13.
namespace levin::torch_compat {

/// The `own` of all ranks, one behind the other, into `all`.
template <class Group = c10d::ProcessGroup>
c10::intrusive_ptr<c10d::Work> all_gather_flat(Group& group, at::Tensor& all, at::Tensor& own) {
  if constexpr (requires { group.all_gather_single(all, own); })
    return group.all_gather_single(all, own);
  else
    return group._allgather_base(all, own);
}

/// The sum over all ranks of their `all`, of which each rank gets its share as `own`.
template <class Group = c10d::ProcessGroup>
c10::intrusive_ptr<c10d::Work> reduce_scatter_flat(Group& group, at::Tensor& own, at::Tensor& all) {
  if constexpr (requires { group.reduce_scatter_single(own, all); })
    return group.reduce_scatter_single(own, all);
  else
    return group._reduce_scatter_base(own, all);
}

}  // namespace levin::torch_compat
