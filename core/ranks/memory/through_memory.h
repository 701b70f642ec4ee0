#pragma once
#include <levin/core/ranks/process_group_backends.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace levin {

/// Returns a backend for tensors on the CPU whose ranks exchange them through memory where they are on one machine
/// (machine_of_process), and over Gloo between machines. Returns `gloo`, which has all ranks, if no machine has two of
/// them, or those of a machine cannot map each other's memory. All ranks call it.
c10::intrusive_ptr<c10d::Backend> through_memory(const BackendOptions& options, c10::intrusive_ptr<c10d::Backend> gloo);

}  // namespace levin
