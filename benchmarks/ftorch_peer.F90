! A training step in Fortran: FTorch, or with -DLEVIN levin, on the same network and data.
!
!   ftorch_peer NETWORK PARAMETERS INPUTS OUTPUTS BATCH STEPS
!
! NETWORK is a TorchScript file with its initial weights and PARAMETERS tensors of weights, which benchmarks/ftorch.py
! makes. Each step has new random inputs, whose target is the inputs in another order; MSE, SGD with the learning rate
! 0.05, float32, the loss read in each step, as in FTorch's example 11_Training. Prints as JSON the microseconds of a
! step, also of CPU time, the first loss and the mean of the last 64.
!
! FTorch is built from its sources, with the LibTorch that levin has (TORCH is the folder of the Python package):
!
!   cmake -S FTORCH -B BUILD -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=TORCH && cmake --build BUILD
!   gfortran -O2 benchmarks/ftorch_peer.F90 -IBUILD/modules -o ftorch_peer -LBUILD -lftorch -Wl,-rpath,BUILD \
!     -Wl,-rpath-link,TORCH/lib
!   gfortran -O2 -DLEVIN benchmarks/ftorch_peer.F90 -ILEVIN_BUILD/hosts/fortran/modules -o levin_peer \
!     LEVIN_BUILD/hosts/fortran/liblevin_fortran.a -LLEVIN_BUILD/lib -llevin_c -Wl,-rpath,LEVIN_BUILD/lib \
!     -Wl,-rpath-link,TORCH/lib
!
! FTorch asks for C++17, and headers of LibTorch 2.13 for C++20: its CMakeLists.txt needs that number changed.
program ftorch_peer
  use, intrinsic :: iso_fortran_env, only: int64, real32, real64
#ifdef LEVIN
  use levin
#else
  use, intrinsic :: iso_c_binding, only: c_int64_t, c_loc, c_ptr
  use ftorch
#endif
  implicit none
#ifdef LEVIN
  type(levin_session) :: session
#else
  type(torch_model) :: model
  type(torch_optim) :: optimizer
  type(torch_tensor), allocatable :: weights(:)
  type(torch_tensor) :: of_input(1), of_target, of_output(1)
#endif
  real(real32), allocatable, target :: input(:, :), target(:, :), output(:, :)
  real(real64) :: loss, first_loss = 0, last_losses = 0, cpu_begin = 0, cpu_end
  integer(int64) :: begun = 0, ended, rate
  integer :: parameters, inputs, outputs, batch, steps, warm, step
  character(4096) :: network

  call get_command_argument(1, network)
  parameters = number(2)
  inputs = number(3)
  outputs = number(4)
  batch = number(5)
  steps = number(6)
  warm = steps / 10
  allocate (input(inputs, batch), target(outputs, batch), output(outputs, batch))
  call random_init(.true., .true.)
  call begin()
  do step = 1, warm + steps
    if (step == warm + 1) then
      call system_clock(begun, rate)
      call cpu_time(cpu_begin)
    end if
    call random_number(input)
    target(1, :) = input(inputs, :)
    target(2:, :) = input(:outputs - 1, :)
    call train(loss)
    if (step == 1) first_loss = loss
    if (step > warm + steps - 64) last_losses = last_losses + loss / 64
  end do
  call cpu_time(cpu_end)
  call system_clock(ended)
  print "(a, f0.3, a, f0.3, a, es14.7, a, es14.7, a)", '{"us_per_step": ', 1e6 * real(ended - begun) / rate / steps, &
    ', "cpu_us_per_step": ', 1e6 * (cpu_end - cpu_begin) / steps, ', "first_loss": ', first_loss, &
    ', "mean_of_last_losses": ', last_losses, "}"
contains
  integer function number(place)
    integer, intent(in) :: place
    character(32) :: text
    call get_command_argument(place, text)
    read (text, *) number
  end function

#ifdef LEVIN
  subroutine begin()
    call session%start('{"seed": 1, "trainer": {"accelerator": "cpu", "max_epochs": -1, "log_every_n_steps": 1000}, '// &
      '"model": {"class": "ScriptModule", "file": "'//trim(network)//'", "loss": "mse_loss", '// &
      '"optimizer": {"class": "SGD", "lr": 0.05}}}')
  end subroutine
  subroutine train(loss)
    real(real64), intent(out) :: loss
    call session%step(input, target)
    loss = session%loss()
  end subroutine
#else
  subroutine begin()
    allocate (weights(parameters))
    call torch_model_load(model, trim(network), torch_kCPU, is_training=.true.)
    call torch_model_parameters(model, weights)
    call torch_optim_SGD(optimizer, weights, learning_rate=0.05_real64)
    call of_rows(of_input(1), c_loc(input), inputs)
    call of_rows(of_target, c_loc(target), outputs)
    call of_rows(of_output(1), c_loc(output), outputs)
  end subroutine
  ! A tensor [batch, columns] over an array (columns, batch), as levin has it.
  subroutine of_rows(tensor, memory, columns)
    type(torch_tensor), intent(out) :: tensor
    type(c_ptr), intent(in) :: memory
    integer, intent(in) :: columns
    call torch_tensor_from_blob(tensor, memory, 2, [int(batch, c_int64_t), int(columns, c_int64_t)], [2, 1], &
      torch_kFloat32, torch_kCPU)
  end subroutine
  subroutine train(loss)
    real(real64), intent(out) :: loss
    real(real32), target :: value(1)
    type(torch_tensor) :: of_loss
    call optimizer%zero_grad()
    call torch_tensor_from_array(of_loss, value, torch_kCPU)
    call torch_model_forward(model, of_input, of_output, requires_grad=.true.)
    call torch_tensor_mean(of_loss, (of_output(1) - of_target)**2)
    call torch_tensor_backward(of_loss)
    call optimizer%step()
    loss = value(1)
  end subroutine
#endif
end program
