#pragma once
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

// The collectives on flat memory, whose names changed in LibTorch 2.13.
namespace levin::torch_compat {

/// Gathers the `own` of all ranks, concatenated in rank order, into `all`.
template <class Group = c10d::ProcessGroup>
c10::intrusive_ptr<c10d::Work> all_gather_flat(Group& group, at::Tensor& all, at::Tensor& own) {
  if constexpr (requires { group.all_gather_single(all, own); })
    return group.all_gather_single(all, own);
  else
    return group._allgather_base(all, own);
}

/// Sums the `all` of all ranks and gives each rank its share of the sum as `own`.
template <class Group = c10d::ProcessGroup>
c10::intrusive_ptr<c10d::Work> reduce_scatter_flat(Group& group, at::Tensor& own, at::Tensor& all) {
  if constexpr (requires { group.reduce_scatter_single(own, all); })
    return group.reduce_scatter_single(own, all);
  else
    return group._reduce_scatter_base(own, all);
}

/// Sends each rank its share of `all`; `received` holds the shares of this rank that the others sent, in rank order.
template <class Group = c10d::ProcessGroup>
c10::intrusive_ptr<c10d::Work> all_to_all_flat(Group& group, at::Tensor& received, at::Tensor& all) {
  std::vector<int64_t> equal;
  if constexpr (requires { group.all_to_all_single(received, all, equal, equal); })
    return group.all_to_all_single(received, all, equal, equal);
  else
    return group.alltoall_base(received, all, equal, equal);
}

}  // namespace levin::torch_compat
