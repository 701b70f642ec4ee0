#include <levin/core/ranks/process_group_backends.h>
#include <levin/core/ranks/bounded_call.h>
#include <levin/core/system/error.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <stdexcept>

namespace levin {

c10::intrusive_ptr<c10d::ProcessGroup> make_group(const BackendOptions& options, c10::Device device,
                                                  ProcessGroupBackend backend) {
  auto group = c10::make_intrusive<c10d::ProcessGroup>(options.store, static_cast<int>(options.rank),
                                                       static_cast<int>(options.world_size));
  if (backend == ProcessGroupBackend::Mpi) {
    if (!device.is_cpu())
      throw UsageError("process_group_backend mpi: for tensors on the CPU, and this rank is on ", device);
    add_mpi(*group, options);
    group->setDefaultBackend(c10d::ProcessGroup::BackendType::MPI);
    return group;
  }
  // Gloo's ranks read each other's addresses in the store, which may be on a machine that is gone.
  if (!ends_within(options.timeout + kGrace, [group, options] { add_gloo(*group, options); }))
    throw std::runtime_error("timed out: the store does not answer");
  if (device.is_cuda()) add_nccl(*group, options, device);
  group->setDefaultBackend(device.is_cuda() ? c10d::ProcessGroup::BackendType::NCCL
                                            : c10d::ProcessGroup::BackendType::GLOO);
  return group;
}

}  // namespace levin
