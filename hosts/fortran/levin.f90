! levin for Fortran: training and inference with LibTorch. Fortran 2018, over levin's C interface.
!
! Arrays. The dimensions of levin are those of Fortran in reverse order: x(features, samples) is levin's
! [samples, features]. Nothing is copied for that, nor for sections. Procedures take arrays of any rank, of the kinds
! real32, real64, int8, int16, int32, int64, default logical and logical(c_bool).
!
! Errors. stat= becomes 0, or one of levin_invalid, levin_failed and levin_no_memory, and errmsg= then has the text.
! Without stat=, an error stops the program with the text. After levin_failed of a call that trains, the session has
! ended.
!
! Handles. An assignment shares the object: model_b = model_a are two names of one model. The object is destroyed with
! the last of them, at the end of a variable's scope, by destroy, or when a variable gets another object. (start ends
! the variable's session before the new one begins.)
!
! Places (of results, weights, optimizers) count from 1; epochs and batches of an epoch from 0, as in levin's logs.
module levin
  use levin_arrays, only: conclude, levin_array, levin_batch, levin_bfloat16, levin_bool, levin_failed, levin_float16, &
    levin_float32, levin_float64, levin_int16, levin_int32, levin_int64, levin_int8, levin_invalid, levin_no_memory, &
    levin_ok, levin_uint8
  use levin_buffers, only: levin_buffer, levin_replay, levin_rollout
  use levin_models, only: levin_call, levin_mean, levin_model
  use levin_sessions, only: levin_log_sink, levin_loss_function, levin_ranks, levin_reader, levin_result, levin_session, &
    levin_source, levin_state
  use levin_texts, only: text_of
  use, intrinsic :: iso_c_binding, only: c_char, c_int32_t, c_int64_t, c_loc, c_null_char, c_ptr, c_size_t
  implicit none
  private

  public :: levin_array, levin_batch, levin_buffer, levin_call, levin_model, levin_ranks, levin_reader, levin_replay, &
    levin_result, levin_rollout, levin_session, levin_state
  public :: levin_log_sink, levin_loss_function, levin_source
  public :: levin_build, levin_device_count, levin_device_name, levin_mean, levin_seed, levin_version
  public :: levin_failed, levin_invalid, levin_no_memory, levin_ok
  public :: levin_bfloat16, levin_bool, levin_float16, levin_float32, levin_float64, levin_int16, levin_int32, levin_int64, &
    levin_int8, levin_uint8

  interface
    function c_version() result(text) bind(C, name="levin_version")
      import :: c_ptr
      type(c_ptr) :: text
    end function
    function c_build() result(text) bind(C, name="levin_build")
      import :: c_ptr
      type(c_ptr) :: text
    end function
    function c_seed(seed) result(status) bind(C, name="levin_seed")
      import :: c_int32_t, c_int64_t
      integer(c_int64_t), value :: seed
      integer(c_int32_t) :: status
    end function
    function c_device_count() result(count) bind(C, name="levin_device_count")
      import :: c_int32_t
      integer(c_int32_t) :: count
    end function
    function c_device_name(place, name, size) result(status) bind(C, name="levin_fortran_device_name")
      import :: c_int32_t, c_char, c_size_t
      integer(c_int32_t), value :: place
      character(kind=c_char), intent(out) :: name(*)
      integer(c_size_t), value :: size
      integer(c_int32_t) :: status
    end function
  end interface

contains

  ! Returns levin's version.
  function levin_version() result(text)
    character(:), allocatable :: text
    text = text_of(c_version())
  end function

  ! Returns levin's version, and what it was built with, as one line.
  function levin_build() result(text)
    character(:), allocatable :: text
    text = text_of(c_build())
  end function

  ! Seeds the random numbers that draw initial weights where a config has no seed.
  subroutine levin_seed(seed, stat, errmsg)
    integer, intent(in) :: seed
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_seed(int(seed, c_int64_t)), stat, errmsg)
  end subroutine

  ! Returns how many devices there are: the CPU, and each GPU that this process sees.
  integer function levin_device_count()
    levin_device_count = c_device_count()
  end function

  ! Returns a device's name. The CPU is number 1.
  function levin_device_name(place, stat, errmsg) result(name)
    integer, intent(in) :: place
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: name
    character(kind=c_char), target :: text(256)
    text = c_null_char
    call conclude(c_device_name(int(place - 1, c_int32_t), text, size(text, kind=c_size_t)), stat, errmsg)
    name = text_of(c_loc(text))
  end function

end module
