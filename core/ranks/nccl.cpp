#include <c10/core/impl/VirtualGuardImpl.h>
#include <levin/core/ranks/process_group_backends.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

namespace levin {

void add_nccl(c10d::ProcessGroup& group, const BackendOptions& options, c10::Device device) {
  // NCCL uses the thread's current GPU.
  c10::impl::VirtualGuardImpl(device.type()).setDevice(device);
  const auto nccl = c10d::ProcessGroupNCCL::Options::create();
  nccl->timeout = options.timeout;
  const auto backend = c10::make_intrusive<c10d::ProcessGroupNCCL>(options.store, static_cast<int>(options.rank),
                                                                   static_cast<int>(options.world_size), nccl);
  backend->setBoundDeviceId(device);
  group.setBackend(c10::kCUDA, c10d::ProcessGroup::BackendType::NCCL, backend);
}

}  // namespace levin
