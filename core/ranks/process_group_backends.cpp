#include <levin/core/ranks/process_group_backends.h>
#include <levin/core/ranks/bounded_call.h>
#include <levin/core/ranks/memory/through_memory.h>
#include <levin/core/system/error.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <memory>
#include <stdexcept>

namespace levin {

c10::intrusive_ptr<c10d::ProcessGroup> make_group(const BackendOptions& options, c10::Device device,
                                                  ProcessGroupBackend backend) {
  auto group = c10::make_intrusive<c10d::ProcessGroup>(options.store, static_cast<int>(options.rank),
                                                       static_cast<int>(options.world_size));
  if (backend == ProcessGroupBackend::Mpi && !device.is_cpu())
    throw UsageError("process_group_backend mpi: for tensors on the CPU, and this rank is on ", device);
  // The ranks read each other's addresses in the store, which may be on a machine that is gone.
  const auto on_cpu = std::make_shared<c10::intrusive_ptr<c10d::Backend>>();
  const auto meet = [=] {
    if (options.transport) {
      *on_cpu = make_host_backend(options);
      return;
    }
    *on_cpu = make_gloo(options);
    if (backend == ProcessGroupBackend::Auto) *on_cpu = through_memory(options, *on_cpu);
  };
  if (!ends_within(options.timeout + kGrace, meet)) throw std::runtime_error("timed out: the store does not answer");
  const auto type_on_cpu = (*on_cpu)->getBackendName() == "gloo" ? c10d::ProcessGroup::BackendType::GLOO
                                                                 : c10d::ProcessGroup::BackendType::CUSTOM;
  group->setBackend(c10::kCPU, type_on_cpu, *on_cpu);
  if (device.is_cuda()) add_nccl(*group, options, device);
  group->setDefaultBackend(device.is_cuda() ? c10d::ProcessGroup::BackendType::NCCL : type_on_cpu);
  return group;
}

}  // namespace levin
