#pragma once
#include <levin/core/ranks/process_group_backends.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace levin {

/// Returns a backend for tensors on the CPU whose ranks exchange them through memory that they share; what ranks rarely
/// do (send and receive, sparse tensors, shares of different sizes) goes through `other`. Returns `other` if the ranks
/// are not processes of one user on one machine. All ranks call it.
c10::intrusive_ptr<c10d::Backend> through_memory(const BackendOptions& options,
                                                 c10::intrusive_ptr<c10d::Backend> other);

}  // namespace levin
