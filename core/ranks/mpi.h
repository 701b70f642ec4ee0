#pragma once
#include <levin/core/ranks/process_group_backends.h>

namespace levin {

/// Opens liblevin_mpi.so, initialises MPI where the program has not, and joins the ranks of MPI_COMM_WORLD. MPI is
/// finalised when the process exits with 0, unless a rank was lost: what else ends a rank is for mpirun to see, which
/// then ends the others.
///
/// The ranks meet at the store first, since MPI's own start has no time limit. Collective. Throws levin::UsageError if
/// the library is not there, belongs to another MPI than the launcher, or if ranks do not come within the timeout.
std::shared_ptr<HostTransport> join_mpi(const BackendOptions& options);

}  // namespace levin
