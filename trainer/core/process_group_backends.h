#pragma once
#include <c10/core/Device.h>
#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace c10d {
class ProcessGroup;
class Store;
}  // namespace c10d

namespace levin {

/// What a backend of c10d is made of.
struct BackendOptions {
  c10::intrusive_ptr<c10d::Store> store;
  int64_t rank = 0, world_size = 1;
  std::string master_addr = {};
  std::chrono::milliseconds timeout = {};
};

/// Gives `group` Gloo for tensors on the CPU.
void add_gloo(c10d::ProcessGroup& group, const BackendOptions& options);

/// Gives `group` MPI for tensors on the CPU. Throws levin::UsageError where LibTorch has no MPI, and where mpirun has
/// not started the ranks.
void add_mpi(c10d::ProcessGroup& group, const BackendOptions& options);

/// Gives `group` NCCL for tensors on GPUs, of which `device` is this rank's. Throws levin::UsageError where LibTorch or
/// levin were built without NCCL.
void add_nccl(c10d::ProcessGroup& group, const BackendOptions& options, c10::Device device);

}  // namespace levin
