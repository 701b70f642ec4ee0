/* The ranks of an MPI communicator, for levin_session_options.ranks. The library liblevin_mpi links MPI alone; where it
 * was built with another MPI than the host's, compile levin_mpi.c with the host's mpicc: it is one file of C99. */
#ifndef LEVIN_MPI_H
#define LEVIN_MPI_H

#include <levin/c_api.h>
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes ranks of a duplicate of `communicator`, which levin's messages then do not meet the host's in. All of its ranks
 * call it together. MPI must be initialised, with MPI_THREAD_FUNNELED or more; with less than MPI_THREAD_MULTIPLE, all
 * calls that train come from the thread that initialised MPI. The host's error handlers stay as they are, and MPI is
 * not finalised. The text of a failure: levin_mpi_error. */
LEVIN_API levin_status levin_mpi_ranks(MPI_Comm communicator, levin_ranks* ranks);
/* The same for a communicator of Fortran: an integer, or comm%mpi_val. */
LEVIN_API levin_status levin_mpi_ranks_f(MPI_Fint communicator, levin_ranks* ranks);
/* Makes ranks of MPI_COMM_WORLD for a program without MPI of its own, as `levin fit` is: initialises MPI if nobody has,
 * asking for MPI_THREAD_MULTIPLE. `rank` and `size` are what the launcher's variables say; MPI must say the same. */
LEVIN_API levin_status levin_mpi_start(int32_t rank, int32_t size, levin_ranks* ranks);
/* Finalises MPI if levin_mpi_start has initialised it and no rank was lost. All ranks call it, as their last call. */
LEVIN_API void levin_mpi_finish(void);
/* Returns why the newest call of levin_mpi_ranks or levin_mpi_start failed, in this process. */
LEVIN_API const char* levin_mpi_error(void);
/* Gives ranks back that no session was started with; does nothing to others. All ranks call it. */
LEVIN_API void levin_mpi_release(levin_ranks* ranks);

#ifdef __cplusplus
}
#endif

#endif
