#include <levin/core/ranks/process_group_backends.h>
#include <levin/core/system/error.h>

namespace levin {

void add_mpi(c10d::ProcessGroup&, const BackendOptions&) {
  throw UsageError(
      "process_group_backend mpi: this LibTorch is built without MPI, as PyTorch's own packages are; take Debian's "
      "libtorch-dev, or leave it at auto: ranks that mpirun has started speak by Gloo and NCCL too");
}

}  // namespace levin
