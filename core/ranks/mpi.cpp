#include <levin/core/ranks/process_group_backends.h>
#include <levin/core/system/error.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupMPI.hpp>

namespace levin {

void add_mpi(c10d::ProcessGroup& group, const BackendOptions& options) {
  const auto backend = c10d::ProcessGroupMPI::createProcessGroupMPI();
  if (!backend || backend->getRank() != options.rank || backend->getSize() != options.world_size)
    throw UsageError("process_group_backend mpi: rank ", options.rank, " of ", options.world_size,
                     " is no such rank of MPI's; start the ranks with mpirun");
  group.setBackend(c10::kCPU, c10d::ProcessGroup::BackendType::MPI, backend);
}

}  // namespace levin
