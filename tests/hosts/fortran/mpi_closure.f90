! Ranks of a communicator of the program's own train one closure: half of the ranks train, the others solve.
program mpi_closure
  use levin
  use levin_mpi
  use mpi
  use, intrinsic :: iso_fortran_env, only: real64, int64
  implicit none
  type(levin_session) :: session
  type(levin_model) :: model
  type(levin_ranks) :: ranks
  real(real64) :: x(2, 16), y(1, 16), least, most
  real(real64), allocatable :: weights(:)
  integer(int64) :: count
  integer :: rank, trainers, level, ierror, step, i, stat
  character(200) :: text
  call MPI_Init_thread(MPI_THREAD_FUNNELED, level, ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call levin_mpi_ranks(MPI_COMM_NULL, ranks, stat, text)
  if (stat == 0 .or. index(text, 'MPI_COMM_NULL') == 0) error stop 'a communicator that is none was taken'
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, trainers, ierror)
  if (mod(rank, 2) == 0) then
    call levin_mpi_ranks(trainers, ranks)
    call session%start('{"seed": 2, "trainer": {"accelerator": "cpu", "strategy": "ddp", "precision": "64-true", '// &
      '"max_epochs": -1}, "model": {"class": "MLPRegressor", "features": 2, "hidden": [8]}}', ranks=ranks)
    do step = 1, 50
      x = reshape([(sin(0.3_real64 * step + i + rank), i=1, size(x))], shape(x))
      y(1, :) = x(1, :) - 0.5_real64 * x(2, :)
      call session%step(x, y)
    end do
    call session%get_model(model)
    count = model%weights_size()
    allocate (weights(count))
    call model%get_weights(weights)
    call MPI_Allreduce(sum(weights**2), least, 1, MPI_DOUBLE_PRECISION, MPI_MIN, trainers, ierror)
    call MPI_Allreduce(sum(weights**2), most, 1, MPI_DOUBLE_PRECISION, MPI_MAX, trainers, ierror)
    if (least /= most) error stop 'the ranks have different weights'
    call session%finish()
    call session%destroy()
  end if
  call MPI_Finalize(ierror)
  if (rank == 0) print '(a, es10.3)', 'squares of the weights: ', most
end program
