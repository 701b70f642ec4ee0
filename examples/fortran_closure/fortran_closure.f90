! A solver that trains its own subgrid closure while it runs: advection and diffusion of a tracer on a periodic square, in rows that
! MPI ranks share. The mixing by what the grid does not resolve depends on the tracer's gradient; a network learns it from the
! gradient and the velocity. The solver learns for some steps from the mixing that it knows, and then goes some with the network's
! alone, in turns. It saves every 40 steps with the tracer beside the network, and continues from there when it was killed, to the
! same bits.
!
!   mpirun -n 2 fortran_closure [STEPS [FOLDER]]   FOLDER: an absolute path, for the checkpoint; else `checkpoints`
program fortran_closure
  use levin
  use levin_mpi
  use mpi
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  integer, parameter :: n = 32, learning = 30, turn = 40  ! cells of a side; steps with the known mixing in each turn
  real(real64), parameter :: h = 1.0_real64 / n, dt = 0.1_real64 * h
  character(*), parameter :: config = '{"seed": 6, "trainer": {"accelerator": "cpu", "strategy": "ddp", "max_epochs": -1, '// &
    '"gradient_clip_val": 1.0}, "model": {"class": "MLPRegressor", "features": 4, "hidden": [32, 32], "outputs": 1, '// &
    '"optimizer": {"class": "Adam", "lr": 0.003}}}'

  type :: solver_state
    integer :: step = 0
    real(real64) :: error = 0  ! of the network's mixing, the mean over the newest turn
    real(real64) :: c(n, n) = 0  ! this rank's rows are c(:, 1:rows)
  end type

  type(solver_state), target :: now
  type(levin_session) :: session
  type(levin_model) :: model
  type(levin_ranks) :: ranks
  real(real64), allocatable :: c(:, :), gradient(:, :), mixing(:, :), learned(:, :)
  integer :: rank, size, level, ierror, steps, rows, first, i, j
  character(400) :: word, checkpoint, saved
  logical :: is_there

  steps = 400
  checkpoint = 'checkpoints/closure.ckpt'
  saved = 'closure.ckpt'  ! a relative path is below `checkpoints`
  if (command_argument_count() > 0) then
    call get_command_argument(1, word)
    read (word, *) steps
  end if
  if (command_argument_count() > 1) then
    call get_command_argument(2, word)
    checkpoint = trim(word)//'/closure.ckpt'
    saved = checkpoint
  end if
  call MPI_Init_thread(MPI_THREAD_FUNNELED, level, ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  rows = n / size
  if (rows * size /= n) error stop 'the number of ranks does not divide the rows'
  first = rank * rows
  allocate (c(0:n + 1, 0:rows + 1), gradient(4, n * rows), mixing(1, n * rows), learned(1, n * rows))
  do j = 1, rows
    now%c(:, j) = [(sin(6.2831853_real64 * i * h) * cos(6.2831853_real64 * (first + j) * h), i=1, n)]
  end do

  inquire (file=trim(checkpoint), exist=is_there)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call levin_mpi_ranks(MPI_COMM_WORLD, ranks)
  if (is_there) then
    call session%start(config, ranks=ranks, ckpt_path=trim(checkpoint), host_saves=.true.)
  else
    call session%start(config, ranks=ranks, host_saves=.true.)
  end if
  call session%register_state('solver', now)  ! has its values of the checkpoint at once
  call session%get_model(model)
  if (is_there .and. rank == 0) print '(a, i0)', 'continues at step ', now%step

  do while (now%step < steps)
    call look_around()
    if (mod(now%step, turn) < learning) then
      if (.not. session%next()) exit
      call session%step(gradient, mixing)
    else
      call model%run(gradient)
      call model%result(learned)
      call compare()
      mixing = learned
    end if
    call advance()
    now%step = now%step + 1
    if (mod(now%step, turn) == 0) then
      if (rank == 0) print '(a, i5, a, es9.2)', 'step', now%step, ', mean error of the mixing', now%error
      call session%save(trim(saved))
    end if
  end do
  if (rank == 0) print '(a, es24.16)', 'tracer ', sum(now%c(:, 1:rows)**2)
  if (.not. now%error < 0.02_real64) error stop 'the network did not learn the mixing'
  call session%finish()
  call session%destroy()
  call MPI_Finalize(ierror)
contains
  ! Gets the rows of the neighbours; finds the gradient and the velocity in each cell, and the mixing that belongs to them.
  subroutine look_around()
    integer :: below, above, x, y, cell
    real(real64) :: slope
    below = modulo(rank - 1, size)
    above = modulo(rank + 1, size)
    c(1:n, 1:rows) = now%c(:, 1:rows)
    call MPI_Sendrecv(c(1:n, rows), n, MPI_DOUBLE_PRECISION, above, 1, c(1:n, 0), n, MPI_DOUBLE_PRECISION, below, 1, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    call MPI_Sendrecv(c(1:n, 1), n, MPI_DOUBLE_PRECISION, below, 2, c(1:n, rows + 1), n, MPI_DOUBLE_PRECISION, above, 2, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    c(0, :) = c(n, :)
    c(n + 1, :) = c(1, :)
    cell = 0
    do y = 1, rows
      do x = 1, n
        cell = cell + 1
        gradient(1, cell) = 0.1_real64 * (c(x + 1, y) - c(x - 1, y)) / (2 * h)
        gradient(2, cell) = 0.1_real64 * (c(x, y + 1) - c(x, y - 1)) / (2 * h)
        gradient(3, cell) = sin(6.2831853_real64 * (first + y) * h)
        gradient(4, cell) = cos(6.2831853_real64 * x * h)
        slope = hypot(gradient(1, cell), gradient(2, cell))
        mixing(1, cell) = 0.2_real64 + slope
      end do
    end do
  end subroutine

  subroutine advance()
    integer :: x, y, cell
    real(real64) :: laplacian
    cell = 0
    do y = 1, rows
      do x = 1, n
        cell = cell + 1
        laplacian = (c(x + 1, y) + c(x - 1, y) + c(x, y + 1) + c(x, y - 1) - 4 * c(x, y)) / h**2
        now%c(x, y) = c(x, y) + dt * (0.02_real64 * mixing(1, cell) * laplacian &
          - 10 * gradient(3, cell) * gradient(1, cell) - 10 * gradient(4, cell) * gradient(2, cell))
      end do
    end do
  end subroutine

  ! The mean over the ranks of how far the network's mixing is from the one that is known.
  subroutine compare()
    real(real64) :: own
    own = sum(abs(learned - mixing)) / (n * n)
    call MPI_Allreduce(own, now%error, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
  end subroutine
end program
