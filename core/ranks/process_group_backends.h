#pragma once
#include <c10/core/Device.h>
#include <c10/util/intrusive_ptr.h>
#include <levin/core/ranks/process_group_backend.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace c10d {
class Backend;
class ProcessGroup;
class Store;
}  // namespace c10d

namespace levin {

class HostTransport;

/// The arguments of a c10d backend.
struct BackendOptions {
  c10::intrusive_ptr<c10d::Store> store;
  int64_t rank = 0, world_size = 1;
  std::string master_addr = {};
  std::chrono::milliseconds timeout = {};
  std::shared_ptr<HostTransport> transport = {};  ///< of the host that started the ranks, or MPI; null: none
  std::string machine = {};                       ///< whose ranks share memory; empty: machine_of_process()
};

/// Makes Gloo's backend, for tensors on the CPU.
c10::intrusive_ptr<c10d::Backend> make_gloo(const BackendOptions& options);

/// Makes the backend over the host's transport, for tensors on the CPU.
c10::intrusive_ptr<c10d::Backend> make_host_backend(const BackendOptions& options);

/// Adds NCCL to `group` for tensors on GPUs; `device` is this rank's GPU. Throws levin::UsageError if LibTorch or levin
/// were built without NCCL.
void add_nccl(c10d::ProcessGroup& group, const BackendOptions& options, c10::Device device);

/// Makes a group with the backends for tensors on `device` and on the CPU. Its ranks find each other through the store.
c10::intrusive_ptr<c10d::ProcessGroup> make_group(const BackendOptions& options, c10::Device device,
                                                  ProcessGroupBackend backend);

}  // namespace levin
