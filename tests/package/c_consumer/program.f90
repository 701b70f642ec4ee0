! Trains a little network through the installed module, and ends with an error if it does not learn.
program fortran_program
  use levin
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  type(levin_session) :: session
  real(real64) :: x(2, 32), y(1, 32), first
  integer :: step, i
  call session%start('{"seed": 2, "trainer": {"accelerator": "cpu", "max_epochs": -1}, "model": {"class": "MLPRegressor", '// &
    '"features": 2, "hidden": [16], "optimizer": {"class": "Adam", "lr": 0.01}}}')
  do step = 1, 300
    x = reshape([(sin(0.3_real64 * step + i), i=1, size(x))], shape(x))
    y(1, :) = x(1, :) - 0.5_real64 * x(2, :)
    call session%step(x, y)
    if (step == 1) first = session%loss()
  end do
  if (.not. session%loss() < 0.05 * first) error stop 'the network did not learn'
  call session%finish()
end program
