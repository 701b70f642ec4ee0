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
  use levin_texts, only: conclude_with, text_of
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_float, c_funloc, c_funptr, c_f_pointer, c_int32_t, &
    c_int64_t, c_loc, c_null_char, c_null_ptr, c_null_funptr, c_ptr, c_size_t, c_associated
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  implicit none
  private

  public :: levin_model, levin_session, levin_call, levin_reader, levin_batch, levin_array
  public :: levin_state, levin_result, levin_ranks
  public :: levin_loss_function, levin_source
  public :: levin_version, levin_build, levin_seed, levin_device_count, levin_device_name

  ! The values of stat=.
  integer, parameter, public :: levin_ok = 0
  integer, parameter, public :: levin_invalid = 1    ! the call is wrong: a shape, an option, a handle that has ended
  integer, parameter, public :: levin_failed = 2     ! the work failed: a file, a rank, the device, a step
  integer, parameter, public :: levin_no_memory = 3

  ! The dtypes of levin_array%dtype.
  integer, parameter, public :: levin_float32 = 0, levin_float64 = 1, levin_int32 = 2, levin_int64 = 3, &
    levin_uint8 = 4, levin_bool = 5, levin_int8 = 6, levin_int16 = 7, levin_float16 = 8, levin_bfloat16 = 9

  ! ---- as in descriptor.c ----

  integer, parameter :: most_dimensions = 15, name_size = 128
  integer(c_int32_t), parameter :: is_model = 1, is_session = 2, is_call = 3, is_reader = 4
  integer(c_int32_t), parameter :: model_result_ = 1, model_weight_ = 2, reader_result_ = 3, call_output_ = 4, &
    input_gradient_ = 5, weight_gradient_ = 6
  integer(c_int32_t), parameter :: input_gradients_flag = 1, weight_gradients_flag = 2
  integer(c_int32_t), parameter :: no_memory_left = -13

  ! An array of the program's or of levin's. The order of the dimensions is levin's.
  type, bind(C) :: described
    type(c_ptr) :: data = c_null_ptr
    integer(c_int32_t) :: dtype = 0, rank = 0, device_type = 0, device_index = 0
    integer(c_int32_t) :: is_absent = 0, element_size = 0
    integer(c_int64_t) :: shape(most_dimensions) = 0, strides(most_dimensions) = 0
    character(kind=c_char) :: name(name_size) = c_null_char
  end type

  ! ---- types ----

  ! Named arrays, for models that read more than "input" and "target". A batch refers to the arrays: these are variables
  ! with the attribute TARGET, and stay as they are until the batch was used.
  type :: levin_batch
    private
    type(described), allocatable :: arrays(:)
    integer :: used = 0
  contains
    procedure :: add => batch_add
    procedure :: clear => batch_clear
    procedure :: count => batch_count
  end type

  ! An array in levin's memory. It is borrowed: until the next call with the object that gave it.
  type :: levin_array
    character(:), allocatable :: name       ! "": none
    integer(int64), allocatable :: shape(:) ! in Fortran's order
    integer :: dtype = -1
    type(described), private :: view = described(dtype=-1)
  contains
    procedure :: copy => array_copy
    procedure, private :: array_point_real32, array_point_real64, array_point_int32, array_point_int64
    generic :: point => array_point_real32, array_point_real64, array_point_int32, array_point_int64
  end type

  ! Ranks that the program has, for levin_session%start: levin_mpi_ranks of the module levin_mpi makes them of a
  ! communicator. It is the struct levin_ranks of levin/c_api.h.
  type, bind(C) :: levin_ranks
    integer(c_size_t) :: struct_size = 0
    type(c_ptr) :: context = c_null_ptr
    integer(c_int32_t) :: rank = 0, size = 0, local_rank = 0, local_size = 0, node = 0
    type(c_funptr) :: begin = c_null_funptr, test = c_null_funptr, part = c_null_funptr, release = c_null_funptr, &
      error = c_null_funptr
  end type

  ! A model: evaluated, differentiated, saved.
  type :: levin_model
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: create => model_create
    procedure :: save => model_save
    procedure :: run => model_run
    procedure :: result => model_result
    procedure :: result_array => model_result_array
    procedure :: result_count => model_result_count
    procedure :: forward => model_forward
    procedure :: weights_size => model_weights_size
    procedure :: get_weights => model_get_weights
    procedure :: set_weights => model_set_weights
    procedure :: weight => model_weight
    procedure :: weight_array => model_weight_array
    procedure :: weight_count => model_weight_count
    procedure :: is_set => model_is_set
    procedure :: destroy => model_destroy
    procedure, private :: model_assign
    generic :: assignment(=) => model_assign
    final :: model_final
  end type

  ! A model evaluated with what its backward needs: the model as a differentiable function.
  type :: levin_call
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: output => call_output
    procedure :: output_array => call_output_array
    procedure :: output_count => call_output_count
    procedure :: backward => call_backward
    procedure :: input_gradient => call_input_gradient
    procedure :: input_gradient_array => call_input_gradient_array
    procedure :: weight_gradient => call_weight_gradient
    procedure :: weight_gradient_array => call_weight_gradient_array
    procedure :: weight_gradient_count => call_weight_gradient_count
    procedure :: is_set => call_is_set
    procedure :: destroy => call_destroy
    procedure, private :: call_assign
    generic :: assignment(=) => call_assign
    final :: call_final
  end type

  ! The counters of a session.
  type :: levin_state
    integer(int64) :: epoch = 0, step = 0, batches = 0, samples = 0
    real(real64) :: seconds = 0
    logical :: is_paused = .false., is_over = .false.
  end type

  ! What a training has done.
  type :: levin_result
    logical :: stopped = .false.           ! something asked it to end early
    integer(int64) :: epochs = 0, steps = 0, batches = 0
    integer(int64) :: non_finite_step = -1 ! the first step whose loss was NaN or infinite; -1: none
    real(real64) :: seconds = 0
  end type

  ! A training whose batches the program hands over. One thread trains; request_stop, request_save, pause, resume,
  ! get_state and metric may be called by any thread.
  type :: levin_session
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: start => session_start
    procedure :: next => session_next
    procedure :: step => session_step
    procedure :: forward => session_forward
    procedure, private :: session_step_call, session_step_calls
    generic :: step_calls => session_step_call, session_step_calls
    procedure :: step_loss => session_step_loss
    procedure :: fit => session_fit
    procedure :: validate => session_validate
    procedure :: loss => session_loss
    procedure :: end_epoch => session_end_epoch
    procedure :: log => session_log
    procedure :: save => session_save
    procedure :: due_to_save => session_due_to_save
    procedure :: register_state => session_register_state
    procedure :: rate => session_rate
    procedure :: set_rate => session_set_rate
    procedure :: metric => session_metric
    procedure :: metrics => session_metrics
    procedure :: warnings => session_warnings
    procedure :: get_state => session_get_state
    procedure :: get_model => session_get_model
    procedure :: request_stop => session_request_stop
    procedure :: request_save => session_request_save
    procedure :: pause => session_pause
    procedure :: resume => session_resume
    procedure :: publish => session_publish
    procedure :: finish => session_finish
    procedure :: is_set => session_is_set
    procedure :: destroy => session_destroy
    procedure, private :: session_assign
    generic :: assignment(=) => session_assign
    final :: session_final
  end type

  ! A copy of a session's model for one thread, with the published weights, which runs while the session trains.
  type :: levin_reader
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: create => reader_create
    procedure :: update => reader_update
    procedure :: run => reader_run
    procedure :: result => reader_result
    procedure :: result_array => reader_result_array
    procedure :: result_count => reader_result_count
    procedure :: is_set => reader_is_set
    procedure :: destroy => reader_destroy
    procedure, private :: reader_assign
    generic :: assignment(=) => reader_assign
    final :: reader_final
  end type

  ! ---- procedures of the program ----

  abstract interface
    ! Computes the loss of a step: calls made by session%forward, each with its backward, belong to the step. A stat
    ! that is not 0 ends the step with levin_failed.
    subroutine levin_loss_function(session, loss, stat)
      import :: levin_session, real64
      type(levin_session), intent(inout) :: session
      real(real64), intent(out) :: loss
      integer, intent(inout) :: stat
    end subroutine

    ! Adds the arrays of a batch; none: the epoch is over. Their memory stays as it is until the next call.
    subroutine levin_source(epoch, number, batch, stat)
      import :: levin_batch, int64
      integer(int64), intent(in) :: epoch, number
      type(levin_batch), intent(inout) :: batch
      integer, intent(inout) :: stat
    end subroutine
  end interface

  type :: loss_context
    procedure(levin_loss_function), pointer, nopass :: function => null()
    type(c_ptr) :: handle = c_null_ptr
  end type

  type :: source_context
    procedure(levin_source), pointer, nopass :: source => null()
    type(levin_batch) :: batch
  end type

  ! ---- C ----

  interface
    function c_error() result(text) bind(C, name="levin_error")
      import :: c_ptr
      type(c_ptr) :: text
    end function
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

    function c_describe(array, is_result, true_is_one, to) result(reason) bind(C, name="levin_fortran_describe")
      import :: c_int32_t, described
      type(*), dimension(..), intent(in), target :: array
      integer(c_int32_t), value :: is_result, true_is_one
      type(described), intent(out) :: to
      integer(c_int32_t) :: reason
    end function
    function c_fill(from, count, to, capacity, filled) result(status) bind(C, name="levin_fortran_fill")
      import :: c_int32_t, c_ptr, c_size_t, described
      type(described), intent(in) :: from(*)
      integer(c_size_t), value :: count
      type(c_ptr), value :: to
      integer(c_size_t), value :: capacity
      integer(c_size_t), intent(out) :: filled
      integer(c_int32_t) :: status
    end function
    function c_copy(from, to) result(status) bind(C, name="levin_fortran_copy")
      import :: c_int32_t, described
      type(described), intent(in) :: from, to
      integer(c_int32_t) :: status
    end function
    function c_get(what, handle, name, place, to) result(status) bind(C, name="levin_fortran_get")
      import :: c_int32_t, c_ptr, c_size_t, c_char, described
      integer(c_int32_t), value :: what
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      integer(c_size_t), value :: place
      type(described), intent(out) :: to
      integer(c_int32_t) :: status
    end function
    function c_count(what, handle, count) result(status) bind(C, name="levin_fortran_count")
      import :: c_int32_t, c_ptr, c_size_t
      integer(c_int32_t), value :: what
      type(c_ptr), value :: handle
      integer(c_size_t), intent(out) :: count
      integer(c_int32_t) :: status
    end function
    function c_point_real32(from, pointer) result(reason) bind(C, name="levin_fortran_point_real32")
      import :: c_int32_t, described, c_float
      type(described), intent(in) :: from
      real(c_float), pointer, intent(out) :: pointer(..)
      integer(c_int32_t) :: reason
    end function
    function c_point_real64(from, pointer) result(reason) bind(C, name="levin_fortran_point_real64")
      import :: c_int32_t, described, c_double
      type(described), intent(in) :: from
      real(c_double), pointer, intent(out) :: pointer(..)
      integer(c_int32_t) :: reason
    end function
    function c_point_int32(from, pointer) result(reason) bind(C, name="levin_fortran_point_int32")
      import :: c_int32_t, described
      type(described), intent(in) :: from
      integer(c_int32_t), pointer, intent(out) :: pointer(..)
      integer(c_int32_t) :: reason
    end function
    function c_point_int64(from, pointer) result(reason) bind(C, name="levin_fortran_point_int64")
      import :: c_int32_t, described, c_int64_t
      type(described), intent(in) :: from
      integer(c_int64_t), pointer, intent(out) :: pointer(..)
      integer(c_int32_t) :: reason
    end function

    subroutine c_hold(kind, handle) bind(C, name="levin_fortran_hold")
      import :: c_int32_t, c_ptr
      integer(c_int32_t), value :: kind
      type(c_ptr), value :: handle
    end subroutine
    subroutine c_release(kind, handle) bind(C, name="levin_fortran_release")
      import :: c_int32_t, c_ptr
      integer(c_int32_t), value :: kind
      type(c_ptr), value :: handle
    end subroutine

    function c_create(file, text, options, option_count, plugins, plugin_count, weights, model) result(status) &
        bind(C, name="levin_fortran_create")
      import :: c_int32_t, c_ptr, c_size_t, c_char
      character(kind=c_char), intent(in), optional :: file(*), text(*)
      character(kind=c_char), intent(in) :: options(*), plugins(*)
      integer(c_size_t), value :: option_count, plugin_count
      character(kind=c_char), intent(in), optional :: weights(*)
      type(c_ptr), intent(out) :: model
      integer(c_int32_t) :: status
    end function
    function c_start(file, text, options, option_count, plugins, plugin_count, model, ckpt_path, batches_per_epoch, &
        host_saves, join_launcher, ranks, session) result(status) bind(C, name="levin_fortran_start")
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t, c_char
      character(kind=c_char), intent(in), optional :: file(*), text(*)
      character(kind=c_char), intent(in) :: options(*), plugins(*)
      integer(c_size_t), value :: option_count, plugin_count
      type(c_ptr), value :: model
      character(kind=c_char), intent(in), optional :: ckpt_path(*)
      integer(c_int64_t), value :: batches_per_epoch
      integer(c_int32_t), value :: host_saves, join_launcher
      type(c_ptr), value :: ranks
      type(c_ptr), intent(out) :: session
      integer(c_int32_t) :: status
    end function
    function c_model_save(model, path) result(status) bind(C, name="levin_model_save")
      import :: c_int32_t, c_ptr, c_char
      type(c_ptr), value :: model
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int32_t) :: status
    end function
    function c_run(kind, handle, function, inputs, count) result(status) bind(C, name="levin_fortran_run")
      import :: c_int32_t, c_ptr, c_size_t, c_char, described
      integer(c_int32_t), value :: kind
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in), optional :: function(*)
      type(described), intent(in) :: inputs(*)
      integer(c_size_t), value :: count
      integer(c_int32_t) :: status
    end function
    function c_forward(kind, handle, function, inputs, count, wanted, call) result(status) &
        bind(C, name="levin_fortran_forward")
      import :: c_int32_t, c_ptr, c_size_t, c_char, described
      integer(c_int32_t), value :: kind
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in), optional :: function(*)
      type(described), intent(in) :: inputs(*)
      integer(c_size_t), value :: count
      integer(c_int32_t), value :: wanted
      type(c_ptr), intent(out) :: call
      integer(c_int32_t) :: status
    end function
    function c_backward(call, gradients, count) result(status) bind(C, name="levin_fortran_backward")
      import :: c_int32_t, c_ptr, c_size_t, described
      type(c_ptr), value :: call
      type(described), intent(in) :: gradients(*)
      integer(c_size_t), value :: count
      integer(c_int32_t) :: status
    end function
    function c_weights_size(model, elements) result(status) bind(C, name="levin_model_weights_size")
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: model
      integer(c_int64_t), intent(inout) :: elements
      integer(c_int32_t) :: status
    end function
    function c_weights(model, flat, is_set) result(status) bind(C, name="levin_fortran_weights")
      import :: c_int32_t, c_ptr, described
      type(c_ptr), value :: model
      type(described), intent(in) :: flat
      integer(c_int32_t), value :: is_set
      integer(c_int32_t) :: status
    end function

    function c_next(session, wanted) result(status) bind(C, name="levin_session_next")
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: session
      integer(c_int32_t), intent(inout) :: wanted
      integer(c_int32_t) :: status
    end function
    function c_step(session, inputs, count, flags) result(status) bind(C, name="levin_fortran_step")
      import :: c_int32_t, c_ptr, c_size_t, described
      type(c_ptr), value :: session
      type(described), intent(in) :: inputs(*)
      integer(c_size_t), value :: count
      integer(c_int32_t), intent(inout) :: flags(4)
      integer(c_int32_t) :: status
    end function
    function c_step_calls(session, loss, calls, count, flags) result(status) bind(C, name="levin_fortran_step_calls")
      import :: c_int32_t, c_ptr, c_size_t, c_double
      type(c_ptr), value :: session
      real(c_double), value :: loss
      type(c_ptr), intent(in) :: calls(*)
      integer(c_size_t), value :: count
      integer(c_int32_t), intent(inout) :: flags(4)
      integer(c_int32_t) :: status
    end function
    function c_step_loss(session, function, context, flags) result(status) bind(C, name="levin_fortran_step_loss")
      import :: c_int32_t, c_ptr, c_funptr
      type(c_ptr), value :: session
      type(c_funptr), value :: function
      type(c_ptr), value :: context
      integer(c_int32_t), intent(inout) :: flags(4)
      integer(c_int32_t) :: status
    end function
    function c_validate(session, next, context) result(status) bind(C, name="levin_fortran_validate")
      import :: c_int32_t, c_ptr, c_funptr
      type(c_ptr), value :: session
      type(c_funptr), value :: next
      type(c_ptr), value :: context
      integer(c_int32_t) :: status
    end function
    function c_fit(session, next, train, validation) result(status) bind(C, name="levin_fortran_fit")
      import :: c_int32_t, c_ptr, c_funptr
      type(c_ptr), value :: session
      type(c_funptr), value :: next
      type(c_ptr), value :: train, validation
      integer(c_int32_t) :: status
    end function
    function c_loss(session, loss) result(status) bind(C, name="levin_session_loss")
      import :: c_int32_t, c_ptr, c_double
      type(c_ptr), value :: session
      real(c_double), intent(inout) :: loss
      integer(c_int32_t) :: status
    end function
    function c_end_epoch(session) result(status) bind(C, name="levin_session_end_epoch")
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: session
      integer(c_int32_t) :: status
    end function
    function c_log(session, name, value) result(status) bind(C, name="levin_session_log")
      import :: c_int32_t, c_ptr, c_char, c_double
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), value :: value
      integer(c_int32_t) :: status
    end function
    function c_session_save(session, path) result(status) bind(C, name="levin_session_save")
      import :: c_int32_t, c_ptr, c_char
      type(c_ptr), value :: session
      character(kind=c_char), intent(in), optional :: path(*)
      integer(c_int32_t) :: status
    end function
    function c_due_to_save(session, due) result(status) bind(C, name="levin_session_due_to_save")
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: session
      integer(c_int32_t), intent(inout) :: due
      integer(c_int32_t) :: status
    end function
    function c_register(session, name, array) result(status) bind(C, name="levin_fortran_register")
      import :: c_int32_t, c_ptr, c_char
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*)
      type(*), dimension(..), intent(inout), target :: array
      integer(c_int32_t) :: status
    end function
    function c_rate(session, optimizer, group, rate) result(status) bind(C, name="levin_session_rate")
      import :: c_int32_t, c_ptr, c_double
      type(c_ptr), value :: session
      integer(c_int32_t), value :: optimizer, group
      real(c_double), intent(inout) :: rate
      integer(c_int32_t) :: status
    end function
    function c_set_rate(session, optimizer, rate) result(status) bind(C, name="levin_session_set_rate")
      import :: c_int32_t, c_ptr, c_double
      type(c_ptr), value :: session
      integer(c_int32_t), value :: optimizer
      real(c_double), value :: rate
      integer(c_int32_t) :: status
    end function
    function c_metric(session, name, value) result(status) bind(C, name="levin_session_metric")
      import :: c_int32_t, c_ptr, c_char, c_double
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), intent(inout) :: value
      integer(c_int32_t) :: status
    end function
    function c_metrics(session, names) result(status) bind(C, name="levin_session_metrics")
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: session
      type(c_ptr), intent(inout) :: names
      integer(c_int32_t) :: status
    end function
    function c_warnings(session, lines) result(status) bind(C, name="levin_session_warnings")
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: session
      type(c_ptr), intent(inout) :: lines
      integer(c_int32_t) :: status
    end function
    function c_state(session, counts, seconds, flags) result(status) bind(C, name="levin_fortran_state")
      import :: c_int32_t, c_int64_t, c_ptr, c_double
      type(c_ptr), value :: session
      integer(c_int64_t), intent(out) :: counts(4)
      real(c_double), intent(out) :: seconds
      integer(c_int32_t), intent(out) :: flags(2)
      integer(c_int32_t) :: status
    end function
    function c_get_model(session, model) result(status) bind(C, name="levin_fortran_get_model")
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: session
      type(c_ptr), intent(out) :: model
      integer(c_int32_t) :: status
    end function
    function c_request_stop(session, reason) result(status) bind(C, name="levin_session_request_stop")
      import :: c_int32_t, c_ptr, c_char
      type(c_ptr), value :: session
      character(kind=c_char), intent(in), optional :: reason(*)
      integer(c_int32_t) :: status
    end function
    function c_request_save(session, path) result(status) bind(C, name="levin_session_request_save")
      import :: c_int32_t, c_ptr, c_char
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int32_t) :: status
    end function
    function c_pause(session) result(status) bind(C, name="levin_session_pause")
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: session
      integer(c_int32_t) :: status
    end function
    function c_resume(session) result(status) bind(C, name="levin_session_resume")
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: session
      integer(c_int32_t) :: status
    end function
    function c_publish(session) result(status) bind(C, name="levin_session_publish")
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: session
      integer(c_int32_t) :: status
    end function
    function c_finish(session, counts, seconds, stopped) result(status) bind(C, name="levin_fortran_finish")
      import :: c_int32_t, c_int64_t, c_ptr, c_double
      type(c_ptr), value :: session
      integer(c_int64_t), intent(out) :: counts(4)
      real(c_double), intent(out) :: seconds
      integer(c_int32_t), intent(out) :: stopped
      integer(c_int32_t) :: status
    end function
    function c_reader(session, reader) result(status) bind(C, name="levin_fortran_reader")
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: session
      type(c_ptr), intent(out) :: reader
      integer(c_int32_t) :: status
    end function
    function c_reader_update(reader, step) result(status) bind(C, name="levin_reader_update")
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: reader
      integer(c_int64_t), intent(inout) :: step
      integer(c_int32_t) :: status
    end function
  end interface

contains

  ! ---- the library ----

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

  ! ---- texts and errors ----

  ! Makes a text of C's, without the blanks at the end. What is absent stays unallocated: a null in C.
  subroutine to_c(text, copy)
    character(*), intent(in), optional :: text
    character(:), allocatable, intent(out) :: copy
    if (present(text)) copy = trim(text)//c_null_char
  end subroutine

  ! Makes a text of C's of each element, behind each other.
  subroutine list_to_c(texts, copy, count)
    character(*), intent(in), optional :: texts(:)
    character(:), allocatable, intent(out) :: copy
    integer(c_size_t), intent(out) :: count
    integer :: i
    copy = ""
    count = 0
    if (present(texts)) then
      do i = 1, size(texts)
        copy = copy//trim(texts(i))//c_null_char
      end do
      count = size(texts, kind=c_size_t)
    end if
    copy = copy//c_null_char
  end subroutine

  ! Says why descriptor.c refused an array.
  function reason_of(code) result(text)
    integer(c_int32_t), intent(in) :: code
    character(:), allocatable :: text
    select case (code)
    case (-1)
      text = "is not allocated or not associated"
    case (-2)
      text = "is an assumed-size array, whose last extent nobody knows; pass a section, as x(:, 1:n)"
    case (-3)
      text = "has a type that levin lacks; it takes real(real32), real(real64), integers of 1, 2, 4 and 8 bytes, "// &
        "logical and logical(c_bool)"
    case (-4)
      text = "has elements whose distance is no multiple of their size, as components of some derived types; "// &
        "copy it to an array"
    case (-5)
      text = "is a logical of several bytes; results go to logical(c_bool), integer or real arrays"
    case (-6)
      text = "is a logical of several bytes, and this compiler stores .true. not as 1; use logical(c_bool)"
    case (-7)
      text = "has another rank than levin's array"
    case (-8)
      text = "cannot point to an array on a GPU; copy the array"
    case (-9)
      text = "has another type than levin's array (its dtype); copy the array, which converts"
    case (-10)
      text = "is not contiguous; the memory of a registered state is"
    case (-11)
      text = "has another size than what the checkpoint holds"
    case (-14)
      text = "was to get what levin has not given: the levin_array is empty"
    case default
      text = "names no array that levin has"
    end select
  end function

  ! Ends a procedure as the language's statements end: stat= and errmsg= are set, or an error stops the program. A
  ! negative status is a reason of descriptor.c, about the argument `subject`.
  subroutine conclude(status, stat, errmsg, subject)
    integer(c_int32_t), intent(in) :: status
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(*), intent(in), optional :: subject
    if (status == no_memory_left) then
      call conclude_with(levin_no_memory, "there is no memory left", stat, errmsg)
    else if (status < 0) then
      if (present(subject)) then
        call conclude_with(levin_invalid, subject//" "//reason_of(status), stat, errmsg)
      else
        call conclude_with(levin_invalid, "the array "//reason_of(status), stat, errmsg)
      end if
    else if (status /= levin_ok) then
      call conclude_with(int(status), text_of(c_error()), stat, errmsg)
    else if (present(stat)) then
      stat = levin_ok
    end if
  end subroutine

  ! ---- arrays ----

  ! Describes an array where it lies.
  integer(c_int32_t) function describe(array, is_result, to)
    type(*), dimension(..), intent(in), target :: array
    logical, intent(in) :: is_result
    type(described), intent(out) :: to
    integer(c_int32_t), parameter :: true_is_one = merge(1, 0, transfer(.true., 0_int32) == 1_int32)
    describe = c_describe(array, merge(1_c_int32_t, 0_c_int32_t, is_result), true_is_one, to)
  end function

  ! Collects what a call of levin's takes: input=, target=, and the arrays of a batch behind them.
  subroutine collect(arrays, status, subject, input, target, batch)
    type(described), allocatable, intent(out) :: arrays(:)
    integer(c_int32_t), intent(out) :: status
    character(:), allocatable, intent(out) :: subject
    type(*), dimension(..), intent(in), optional, target :: input, target
    type(levin_batch), intent(in), optional :: batch
    integer :: own, of_batch
    own = 0
    of_batch = 0
    if (present(batch)) of_batch = batch%used
    if (present(input)) own = own + 1
    if (present(target)) own = own + 1
    allocate (arrays(own + of_batch))
    status = levin_ok
    own = 0
    if (present(input)) then
      own = own + 1
      subject = "input="
      status = describe(input, .false., arrays(own))
      if (status /= levin_ok) return
      call set_name(arrays(own), "input")
    end if
    if (present(target)) then
      own = own + 1
      subject = "target="
      status = describe(target, .false., arrays(own))
      if (status /= levin_ok) return
      call set_name(arrays(own), "target")
    end if
    if (of_batch > 0) arrays(own + 1:) = batch%arrays(1:of_batch)
  end subroutine

  subroutine set_name(array, name)
    type(described), intent(inout) :: array
    character(*), intent(in) :: name
    integer :: i
    array%name = c_null_char
    do i = 1, len_trim(name)
      array%name(i) = name(i:i)
    end do
  end subroutine

  ! Adds an array with the name of the batch's entry.
  subroutine batch_add(this, name, array, stat, errmsg)
    class(levin_batch), intent(inout) :: this
    character(*), intent(in) :: name
    type(*), dimension(..), intent(in), target :: array
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(described), allocatable :: more(:)
    type(described) :: added
    integer(c_int32_t) :: status
    if (len_trim(name) == 0 .or. len_trim(name) >= name_size) then
      call conclude_with(levin_invalid, "the name of a batch's array has 1 to 127 characters", stat, errmsg)
      return
    end if
    status = describe(array, .false., added)
    if (status == levin_ok) then
      call set_name(added, name)
      if (.not. allocated(this%arrays)) allocate (this%arrays(8))
      if (this%used == size(this%arrays)) then
        allocate (more(2 * this%used))
        more(1:this%used) = this%arrays
        call move_alloc(more, this%arrays)
      end if
      this%used = this%used + 1
      this%arrays(this%used) = added
    end if
    call conclude(status, stat, errmsg, "the array "//trim(name))
  end subroutine

  ! Removes all arrays.
  subroutine batch_clear(this)
    class(levin_batch), intent(inout) :: this
    this%used = 0
  end subroutine

  ! Returns the number of arrays.
  integer function batch_count(this)
    class(levin_batch), intent(in) :: this
    batch_count = this%used
  end function

  ! Copies the elements to an array of the same shape, whatever its kind and strides.
  subroutine array_copy(this, to, stat, errmsg)
    class(levin_array), intent(in) :: this
    type(*), dimension(..), intent(inout), target :: to
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(described) :: target
    integer(c_int32_t) :: status
    status = describe(to, .true., target)
    if (status == levin_ok) status = c_copy(this%view, target)
    call conclude(status, stat, errmsg, "the array that is copied to")
  end subroutine

  ! Lets a pointer of the array's type and rank point to levin's memory. A gradient that is zero everywhere has none:
  ! the pointer is then null, as after an error.
  subroutine array_point_real32(this, pointer, stat, errmsg)
    class(levin_array), intent(in) :: this
    real(real32), pointer, intent(out) :: pointer(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_point_real32(this%view, pointer), stat, errmsg, "the pointer")
  end subroutine

  subroutine array_point_real64(this, pointer, stat, errmsg)
    class(levin_array), intent(in) :: this
    real(real64), pointer, intent(out) :: pointer(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_point_real64(this%view, pointer), stat, errmsg, "the pointer")
  end subroutine

  subroutine array_point_int32(this, pointer, stat, errmsg)
    class(levin_array), intent(in) :: this
    integer(int32), pointer, intent(out) :: pointer(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_point_int32(this%view, pointer), stat, errmsg, "the pointer")
  end subroutine

  subroutine array_point_int64(this, pointer, stat, errmsg)
    class(levin_array), intent(in) :: this
    integer(int64), pointer, intent(out) :: pointer(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_point_int64(this%view, pointer), stat, errmsg, "the pointer")
  end subroutine

  ! Gets the array at a place, or the one of a name.
  subroutine get_view(what, handle, view, status, place, name)
    integer(c_int32_t), intent(in) :: what
    type(c_ptr), intent(in) :: handle
    type(described), intent(out) :: view
    integer(c_int32_t), intent(out) :: status
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    character(:), allocatable :: text
    integer(c_size_t) :: from_zero
    from_zero = 0
    if (present(place)) from_zero = int(place - 1, c_size_t)
    text = c_null_char
    if (present(name)) text = trim(name)//c_null_char
    status = c_get(what, handle, text, from_zero, view)
  end subroutine

  subroutine copy_from(what, handle, to, place, name, stat, errmsg)
    integer(c_int32_t), intent(in) :: what
    type(c_ptr), intent(in) :: handle
    type(*), dimension(..), intent(inout), target :: to
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(described) :: view, target
    integer(c_int32_t) :: status
    call get_view(what, handle, view, status, place, name)
    if (status < 0) then
      call conclude(status, stat, errmsg, "name=")
      return
    end if
    if (status == levin_ok) status = describe(to, .true., target)
    if (status == levin_ok) status = c_copy(view, target)
    call conclude(status, stat, errmsg, "the array that is copied to")
  end subroutine

  subroutine array_from(what, handle, array, place, name, stat, errmsg)
    integer(c_int32_t), intent(in) :: what
    type(c_ptr), intent(in) :: handle
    type(levin_array), intent(inout) :: array
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    integer :: i
    call get_view(what, handle, array%view, status, place, name)
    if (status /= levin_ok) array%view%dtype = -1
    array%dtype = array%view%dtype
    if (status == levin_ok) then
      array%shape = [(array%view%shape(i), i=array%view%rank, 1, -1)]
      array%name = ""
      do i = 1, name_size
        if (array%view%name(i) == c_null_char) exit
        array%name = array%name//array%view%name(i)
      end do
    end if
    call conclude(status, stat, errmsg, "name=")
  end subroutine

  integer function count_of(what, handle, stat, errmsg)
    integer(c_int32_t), intent(in) :: what
    type(c_ptr), intent(in) :: handle
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_size_t) :: count
    call conclude(c_count(what, handle, count), stat, errmsg)
    count_of = int(count)
  end function

  ! ---- handles ----

  ! Gives a variable another object, or none, in place of the one that it has.
  subroutine replace(kind, handle, made)
    integer(c_int32_t), intent(in) :: kind
    type(c_ptr), intent(inout) :: handle
    type(c_ptr), intent(in) :: made
    type(c_ptr) :: old
    old = handle
    handle = made
    call c_release(kind, old)
  end subroutine

  ! Lets a variable share an object.
  subroutine share(kind, handle, other)
    integer(c_int32_t), intent(in) :: kind
    type(c_ptr), intent(inout) :: handle
    type(c_ptr), intent(in) :: other
    type(c_ptr) :: shared
    shared = other
    call c_hold(kind, shared)
    call replace(kind, handle, shared)
  end subroutine

  impure elemental subroutine model_assign(this, other)
    class(levin_model), intent(inout) :: this
    type(levin_model), intent(in) :: other
    call share(is_model, this%handle, other%handle)
  end subroutine

  impure elemental subroutine call_assign(this, other)
    class(levin_call), intent(inout) :: this
    type(levin_call), intent(in) :: other
    call share(is_call, this%handle, other%handle)
  end subroutine

  impure elemental subroutine session_assign(this, other)
    class(levin_session), intent(inout) :: this
    type(levin_session), intent(in) :: other
    call share(is_session, this%handle, other%handle)
  end subroutine

  impure elemental subroutine reader_assign(this, other)
    class(levin_reader), intent(inout) :: this
    type(levin_reader), intent(in) :: other
    call share(is_reader, this%handle, other%handle)
  end subroutine

  impure elemental subroutine model_final(this)
    type(levin_model), intent(inout) :: this
    call replace(is_model, this%handle, c_null_ptr)
  end subroutine

  impure elemental subroutine call_final(this)
    type(levin_call), intent(inout) :: this
    call replace(is_call, this%handle, c_null_ptr)
  end subroutine

  impure elemental subroutine session_final(this)
    type(levin_session), intent(inout) :: this
    call replace(is_session, this%handle, c_null_ptr)
  end subroutine

  impure elemental subroutine reader_final(this)
    type(levin_reader), intent(inout) :: this
    call replace(is_reader, this%handle, c_null_ptr)
  end subroutine

  ! Lets go of the object, which ends with its last variable.
  impure elemental subroutine model_destroy(this)
    class(levin_model), intent(inout) :: this
    call replace(is_model, this%handle, c_null_ptr)
  end subroutine

  impure elemental subroutine call_destroy(this)
    class(levin_call), intent(inout) :: this
    call replace(is_call, this%handle, c_null_ptr)
  end subroutine

  impure elemental subroutine session_destroy(this)
    class(levin_session), intent(inout) :: this
    call replace(is_session, this%handle, c_null_ptr)
  end subroutine

  impure elemental subroutine reader_destroy(this)
    class(levin_reader), intent(inout) :: this
    call replace(is_reader, this%handle, c_null_ptr)
  end subroutine

  ! Says whether the variable has an object.
  elemental logical function model_is_set(this)
    class(levin_model), intent(in) :: this
    model_is_set = c_associated(this%handle)
  end function

  elemental logical function call_is_set(this)
    class(levin_call), intent(in) :: this
    call_is_set = c_associated(this%handle)
  end function

  elemental logical function session_is_set(this)
    class(levin_session), intent(in) :: this
    session_is_set = c_associated(this%handle)
  end function

  elemental logical function reader_is_set(this)
    class(levin_reader), intent(in) :: this
    reader_is_set = c_associated(this%handle)
  end function

  ! ---- models ----

  ! Makes the config's model on the CPU: a JSON file, JSON text, and options as "model.optimizer.lr=0.01", each over the
  ! ones before. `weights`: a checkpoint of levin or PyTorch Lightning, .pt or .safetensors.
  subroutine model_create(this, text, file, options, plugins, weights, stat, errmsg)
    class(levin_model), intent(inout) :: this
    character(*), intent(in), optional :: text, file
    character(*), intent(in), optional :: options(:), plugins(:)
    character(*), intent(in), optional :: weights
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: c_file, c_text, c_options, c_plugins, c_weights_path
    integer(c_size_t) :: option_count, plugin_count
    integer(c_int32_t) :: status
    type(c_ptr) :: made
    call to_c(file, c_file)
    call to_c(text, c_text)
    call to_c(weights, c_weights_path)
    call list_to_c(options, c_options, option_count)
    call list_to_c(plugins, c_plugins, plugin_count)
    status = c_create(c_file, c_text, c_options, option_count, c_plugins, plugin_count, c_weights_path, made)
    if (status == levin_ok) call replace(is_model, this%handle, made)
    call conclude(status, stat, errmsg)
  end subroutine

  ! Writes the weights: .pt, .pth, .bin for PyTorch, or .safetensors.
  subroutine model_save(this, path, stat, errmsg)
    class(levin_model), intent(in) :: this
    character(*), intent(in) :: path
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_model_save(this%handle, trim(path)//c_null_char), stat, errmsg)
  end subroutine

  ! Evaluates the model without gradients. `function`: a name that the model exports, such as "forward"; without it,
  ! predict_step.
  subroutine model_run(this, input, batch, function, stat, errmsg)
    class(levin_model), intent(in) :: this
    type(*), dimension(..), intent(in), optional, target :: input
    type(levin_batch), intent(in), optional :: batch
    character(*), intent(in), optional :: function
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call run(is_model, this%handle, input, batch, function, stat, errmsg)
  end subroutine

  subroutine run(kind, handle, input, batch, function, stat, errmsg)
    integer(c_int32_t), intent(in) :: kind
    type(c_ptr), intent(in) :: handle
    type(*), dimension(..), intent(in), optional, target :: input
    type(levin_batch), intent(in), optional :: batch
    character(*), intent(in), optional :: function
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(described), allocatable :: arrays(:)
    character(:), allocatable :: subject, c_function
    integer(c_int32_t) :: status
    call collect(arrays, status, subject, input=input, batch=batch)
    call to_c(function, c_function)
    if (status == levin_ok) status = c_run(kind, handle, c_function, arrays, size(arrays, kind=c_size_t))
    call conclude(status, stat, errmsg, subject)
  end subroutine

  ! Copies a result of the newest run to an array of its shape.
  subroutine model_result(this, to, place, name, stat, errmsg)
    class(levin_model), intent(in) :: this
    type(*), dimension(..), intent(inout), target :: to
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call copy_from(model_result_, this%handle, to, place, name, stat, errmsg)
  end subroutine

  ! Gives a result of the newest run where it lies.
  subroutine model_result_array(this, array, place, name, stat, errmsg)
    class(levin_model), intent(in) :: this
    type(levin_array), intent(inout) :: array
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call array_from(model_result_, this%handle, array, place, name, stat, errmsg)
  end subroutine

  integer function model_result_count(this, stat, errmsg)
    class(levin_model), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    model_result_count = count_of(model_result_, this%handle, stat, errmsg)
  end function

  ! Evaluates the model with what backward needs. `input_gradients`: backward computes those of the inputs;
  ! `weight_gradients`: and those of the weights.
  subroutine model_forward(this, call, input, batch, function, input_gradients, weight_gradients, stat, errmsg)
    class(levin_model), intent(in) :: this
    type(levin_call), intent(inout) :: call
    type(*), dimension(..), intent(in), optional, target :: input
    type(levin_batch), intent(in), optional :: batch
    character(*), intent(in), optional :: function
    logical, intent(in), optional :: input_gradients, weight_gradients
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: wanted
    wanted = 0
    if (present(input_gradients)) wanted = merge(input_gradients_flag, 0_c_int32_t, input_gradients)
    if (present(weight_gradients)) wanted = wanted + merge(weight_gradients_flag, 0_c_int32_t, weight_gradients)
    call forward(is_model, this%handle, call, wanted, input, batch, function, stat, errmsg)
  end subroutine

  subroutine forward(kind, handle, call, wanted, input, batch, function, stat, errmsg)
    integer(c_int32_t), intent(in) :: kind
    type(c_ptr), intent(in) :: handle
    type(levin_call), intent(inout) :: call
    integer(c_int32_t), intent(in) :: wanted
    type(*), dimension(..), intent(in), optional, target :: input
    type(levin_batch), intent(in), optional :: batch
    character(*), intent(in), optional :: function
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(described), allocatable :: arrays(:)
    character(:), allocatable :: subject, c_function
    integer(c_int32_t) :: status
    type(c_ptr) :: made
    made = c_null_ptr
    call collect(arrays, status, subject, input=input, batch=batch)
    call to_c(function, c_function)
    if (status == levin_ok) &
      status = c_forward(kind, handle, c_function, arrays, size(arrays, kind=c_size_t), wanted, made)
    if (status == levin_ok) call replace(is_call, call%handle, made)
    call conclude(status, stat, errmsg, subject)
  end subroutine

  ! Returns the number of elements of all floating-point weights together.
  integer(int64) function model_weights_size(this, stat, errmsg)
    class(levin_model), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: elements
    elements = 0
    call conclude(c_weights_size(this%handle, elements), stat, errmsg)
    model_weights_size = elements
  end function

  ! Copies all floating-point weights, one after another in levin's order, to a real array of rank 1.
  subroutine model_get_weights(this, flat, stat, errmsg)
    class(levin_model), intent(in) :: this
    type(*), dimension(..), intent(inout), target :: flat
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(described) :: array
    integer(c_int32_t) :: status
    status = describe(flat, .true., array)
    if (status == levin_ok) status = c_weights(this%handle, array, 0_c_int32_t)
    call conclude(status, stat, errmsg, "flat=")
  end subroutine

  ! Sets all of them.
  subroutine model_set_weights(this, flat, stat, errmsg)
    class(levin_model), intent(in) :: this
    type(*), dimension(..), intent(in), target :: flat
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(described) :: array
    integer(c_int32_t) :: status
    status = describe(flat, .false., array)
    if (status == levin_ok) status = c_weights(this%handle, array, 1_c_int32_t)
    call conclude(status, stat, errmsg, "flat=")
  end subroutine

  ! Copies one weight: a parameter or buffer, by its place or by its name in the state dict.
  subroutine model_weight(this, to, place, name, stat, errmsg)
    class(levin_model), intent(in) :: this
    type(*), dimension(..), intent(inout), target :: to
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call copy_from(model_weight_, this%handle, to, place, name, stat, errmsg)
  end subroutine

  ! Gives one weight where it lies.
  subroutine model_weight_array(this, array, place, name, stat, errmsg)
    class(levin_model), intent(in) :: this
    type(levin_array), intent(inout) :: array
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call array_from(model_weight_, this%handle, array, place, name, stat, errmsg)
  end subroutine

  integer function model_weight_count(this, stat, errmsg)
    class(levin_model), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    model_weight_count = count_of(model_weight_, this%handle, stat, errmsg)
  end function

  ! ---- calls ----

  subroutine call_output(this, to, place, name, stat, errmsg)
    class(levin_call), intent(in) :: this
    type(*), dimension(..), intent(inout), target :: to
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call copy_from(call_output_, this%handle, to, place, name, stat, errmsg)
  end subroutine

  subroutine call_output_array(this, array, place, name, stat, errmsg)
    class(levin_call), intent(in) :: this
    type(levin_array), intent(inout) :: array
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call array_from(call_output_, this%handle, array, place, name, stat, errmsg)
  end subroutine

  integer function call_output_count(this, stat, errmsg)
    class(levin_call), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call_output_count = count_of(call_output_, this%handle, stat, errmsg)
  end function

  ! Takes the gradient of the program's loss with respect to the output, and computes what forward was asked for: the
  ! vector-Jacobian product. `batch`: gradients with the names of several outputs; the loss does not depend on the
  ! outputs that it lacks. Once for each call.
  subroutine call_backward(this, gradient, batch, stat, errmsg)
    class(levin_call), intent(in) :: this
    type(*), dimension(..), intent(in), optional, target :: gradient
    type(levin_batch), intent(in), optional :: batch
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(described), allocatable :: arrays(:)
    character(:), allocatable :: subject
    integer(c_int32_t) :: status
    if (present(gradient) .eqv. present(batch)) then
      call conclude_with(levin_invalid, "backward takes either gradient= or batch=", stat, errmsg)
      return
    end if
    call collect(arrays, status, subject, input=gradient, batch=batch)
    subject = "gradient="
    if (present(batch)) then
      subject = "a name in batch="
    else if (status == levin_ok) then
      call set_name(arrays(1), "")
    end if
    if (status == levin_ok) status = c_backward(this%handle, arrays, size(arrays, kind=c_size_t))
    call conclude(status, stat, errmsg, subject)
  end subroutine

  ! Copies the gradient of an input, after backward.
  subroutine call_input_gradient(this, to, place, name, stat, errmsg)
    class(levin_call), intent(in) :: this
    type(*), dimension(..), intent(inout), target :: to
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call copy_from(input_gradient_, this%handle, to, place, name, stat, errmsg)
  end subroutine

  subroutine call_input_gradient_array(this, array, place, name, stat, errmsg)
    class(levin_call), intent(in) :: this
    type(levin_array), intent(inout) :: array
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call array_from(input_gradient_, this%handle, array, place, name, stat, errmsg)
  end subroutine

  ! Copies the gradient of a weight, after the backward of model%forward.
  subroutine call_weight_gradient(this, to, place, name, stat, errmsg)
    class(levin_call), intent(in) :: this
    type(*), dimension(..), intent(inout), target :: to
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call copy_from(weight_gradient_, this%handle, to, place, name, stat, errmsg)
  end subroutine

  subroutine call_weight_gradient_array(this, array, place, name, stat, errmsg)
    class(levin_call), intent(in) :: this
    type(levin_array), intent(inout) :: array
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call array_from(weight_gradient_, this%handle, array, place, name, stat, errmsg)
  end subroutine

  integer function call_weight_gradient_count(this, stat, errmsg)
    class(levin_call), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call_weight_gradient_count = count_of(weight_gradient_, this%handle, stat, errmsg)
  end function

  ! ---- training ----

  ! Begins a training. The config is as for levin_model%create; `model` is trained in place of the config's, and stays
  ! usable. `ckpt_path`: a checkpoint to resume from: a file, a run's folder, "last", "best". `batches_per_epoch`: for
  ! schedulers that need the number of all steps. `host_saves`: checkpoints wait for save. `join_launcher`: the ranks
  ! that torchrun, mpirun or srun has started train together. `ranks`: those of the program's own communicator do; the
  ! session gives them back at its end.
  subroutine session_start(this, text, file, options, plugins, model, ckpt_path, batches_per_epoch, host_saves, &
      join_launcher, ranks, stat, errmsg)
    class(levin_session), intent(inout) :: this
    character(*), intent(in), optional :: text, file
    character(*), intent(in), optional :: options(:), plugins(:)
    type(levin_model), intent(in), optional :: model
    character(*), intent(in), optional :: ckpt_path
    integer, intent(in), optional :: batches_per_epoch
    logical, intent(in), optional :: host_saves, join_launcher
    type(levin_ranks), intent(in), optional, target :: ranks
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: c_file, c_text, c_options, c_plugins, c_ckpt_path
    integer(c_size_t) :: option_count, plugin_count
    integer(c_int64_t) :: batches
    integer(c_int32_t) :: saves, joins, status
    type(c_ptr) :: c_model, c_ranks, made
    call session_destroy(this)  ! a session before this one has then ended, and written its files
    c_model = c_null_ptr
    if (present(model)) then
      c_model = model%handle
      if (.not. c_associated(c_model)) then
        call conclude_with(levin_invalid, "model= was not created", stat, errmsg)
        return
      end if
    end if
    batches = 0
    if (present(batches_per_epoch)) batches = batches_per_epoch
    saves = 0
    if (present(host_saves)) saves = merge(1_c_int32_t, 0_c_int32_t, host_saves)
    joins = 0
    if (present(join_launcher)) joins = merge(1_c_int32_t, 0_c_int32_t, join_launcher)
    c_ranks = c_null_ptr
    if (present(ranks)) c_ranks = c_loc(ranks)
    call to_c(file, c_file)
    call to_c(text, c_text)
    call to_c(ckpt_path, c_ckpt_path)
    call list_to_c(options, c_options, option_count)
    call list_to_c(plugins, c_plugins, plugin_count)
    status = c_start(c_file, c_text, c_options, option_count, c_plugins, plugin_count, c_model, c_ckpt_path, batches, &
      saves, joins, c_ranks, made)
    this%handle = made
    call conclude(status, stat, errmsg)
  end subroutine

  ! Completes the newest batch, and says whether another one is wanted: not at a limit, not after a request to stop.
  logical function session_next(this, stat, errmsg)
    class(levin_session), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: wanted
    wanted = 0
    call conclude(c_next(this%handle, wanted), stat, errmsg)
    session_next = wanted /= 0
  end function

  ! Trains one batch: input= and target=, named arrays in batch=, or nothing for a model that makes its data itself.
  ! `trained`: false if training had ended. `stepped`: the batch ended an accumulation window. `skipped`: the optimizer
  ! did not step, since gradients were not finite.
  subroutine session_step(this, input, target, batch, trained, stepped, skipped, ended_epoch, stat, errmsg)
    class(levin_session), intent(in) :: this
    type(*), dimension(..), intent(in), optional, target :: input, target
    type(levin_batch), intent(in), optional :: batch
    logical, intent(out), optional :: trained, stepped, skipped, ended_epoch
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(described), allocatable :: arrays(:)
    character(:), allocatable :: subject
    integer(c_int32_t) :: status, flags(4)
    flags = 0
    call collect(arrays, status, subject, input, target, batch)
    if (status == levin_ok) status = c_step(this%handle, arrays, size(arrays, kind=c_size_t), flags)
    call tell(flags, trained, stepped, skipped, ended_epoch)
    call conclude(status, stat, errmsg, subject)
  end subroutine

  subroutine tell(flags, trained, stepped, skipped, ended_epoch)
    integer(c_int32_t), intent(in) :: flags(4)
    logical, intent(out), optional :: trained, stepped, skipped, ended_epoch
    if (present(trained)) trained = flags(1) /= 0
    if (present(stepped)) stepped = flags(2) /= 0
    if (present(skipped)) skipped = flags(3) /= 0
    if (present(ended_epoch)) ended_epoch = flags(4) /= 0
  end subroutine

  ! Evaluates the session's model in training mode, for step_calls and step_loss.
  subroutine session_forward(this, call, input, batch, function, input_gradients, stat, errmsg)
    class(levin_session), intent(in) :: this
    type(levin_call), intent(inout) :: call
    type(*), dimension(..), intent(in), optional, target :: input
    type(levin_batch), intent(in), optional :: batch
    character(*), intent(in), optional :: function
    logical, intent(in), optional :: input_gradients
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: wanted
    wanted = 0
    if (present(input_gradients)) wanted = merge(input_gradients_flag, 0_c_int32_t, input_gradients)
    call forward(is_session, this%handle, call, wanted, input, batch, function, stat, errmsg)
  end subroutine

  ! Trains on the program's own loss: the gradients that a call's backward was given go on to the weights. `loss` is its
  ! value, for logs. The call is used up.
  subroutine session_step_call(this, loss, call, trained, stepped, skipped, ended_epoch, stat, errmsg)
    class(levin_session), intent(in) :: this
    real(real64), intent(in) :: loss
    type(levin_call), intent(in) :: call
    logical, intent(out), optional :: trained, stepped, skipped, ended_epoch
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call step_handles(this%handle, loss, [call%handle], trained, stepped, skipped, ended_epoch, stat, errmsg)
  end subroutine

  ! The same with a loss of several calls.
  subroutine session_step_calls(this, loss, calls, trained, stepped, skipped, ended_epoch, stat, errmsg)
    class(levin_session), intent(in) :: this
    real(real64), intent(in) :: loss
    type(levin_call), intent(in) :: calls(:)
    logical, intent(out), optional :: trained, stepped, skipped, ended_epoch
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr), allocatable :: handles(:)
    integer :: i
    allocate (handles(size(calls)))
    do i = 1, size(calls)
      handles(i) = calls(i)%handle
    end do
    call step_handles(this%handle, loss, handles, trained, stepped, skipped, ended_epoch, stat, errmsg)
  end subroutine

  subroutine step_handles(session, loss, handles, trained, stepped, skipped, ended_epoch, stat, errmsg)
    type(c_ptr), intent(in) :: session
    real(real64), intent(in) :: loss
    type(c_ptr), intent(in) :: handles(:)
    logical, intent(out), optional :: trained, stepped, skipped, ended_epoch
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status, flags(4)
    flags = 0
    status = c_step_calls(session, loss, handles, size(handles, kind=c_size_t), flags)
    call tell(flags, trained, stepped, skipped, ended_epoch)
    call conclude(status, stat, errmsg)
  end subroutine

  ! Trains on the program's own loss, computed by a procedure that the step calls: needed by fsdp, and by optimizers
  ! that evaluate the loss several times (LBFGS).
  subroutine session_step_loss(this, function, trained, stepped, skipped, ended_epoch, stat, errmsg)
    class(levin_session), intent(in) :: this
    procedure(levin_loss_function) :: function
    logical, intent(out), optional :: trained, stepped, skipped, ended_epoch
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(loss_context), target :: context
    integer(c_int32_t) :: status, flags(4)
    flags = 0
    context%function => function
    context%handle = this%handle
    status = c_step_loss(this%handle, c_funloc(give_loss), c_loc(context), flags)
    call tell(flags, trained, stepped, skipped, ended_epoch)
    call conclude(status, stat, errmsg)
  end subroutine

  integer(c_int32_t) function give_loss(context, session, loss) bind(C)
    type(c_ptr), value :: context, session
    real(c_double), intent(inout) :: loss
    type(loss_context), pointer :: given
    type(levin_session) :: variable
    real(real64) :: value
    integer :: stat
    call c_f_pointer(context, given)
    stat = levin_ok
    variable%handle = session
    call c_hold(is_session, session)
    call given%function(variable, value, stat)
    if (stat == levin_ok) loss = value
    give_loss = int(stat, c_int32_t)
  end function

  ! Trains until the session is over, on epochs of a source.
  subroutine session_fit(this, train, validation, stat, errmsg)
    class(levin_session), intent(in) :: this
    procedure(levin_source) :: train
    procedure(levin_source), optional :: validation
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(source_context), target :: of_train, of_validation
    type(c_ptr) :: c_validation
    of_train%source => train
    c_validation = c_null_ptr
    if (present(validation)) then
      of_validation%source => validation
      c_validation = c_loc(of_validation)
    end if
    call conclude(c_fit(this%handle, c_funloc(give_batch), c_loc(of_train), c_validation), stat, errmsg)
  end subroutine

  ! Runs the model's validation_step over one epoch of a source.
  subroutine session_validate(this, source, stat, errmsg)
    class(levin_session), intent(in) :: this
    procedure(levin_source) :: source
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(source_context), target :: context
    context%source => source
    call conclude(c_validate(this%handle, c_funloc(give_batch), c_loc(context)), stat, errmsg)
  end subroutine

  integer(c_int32_t) function give_batch(context, epoch, number, arrays, capacity, count) bind(C)
    type(c_ptr), value :: context
    integer(c_int64_t), value :: epoch, number
    type(c_ptr), value :: arrays
    integer(c_size_t), value :: capacity
    integer(c_size_t), intent(inout) :: count
    type(source_context), pointer :: given
    integer :: stat
    call c_f_pointer(context, given)
    stat = levin_ok
    call given%batch%clear()
    call given%source(int(epoch, int64), int(number, int64), given%batch, stat)
    give_batch = int(stat, c_int32_t)
    if (stat /= levin_ok .or. given%batch%count() == 0) return
    give_batch = c_fill(given%batch%arrays, int(given%batch%count(), c_size_t), arrays, capacity, count)
  end function

  ! Returns the newest step's loss; it waits for the device. NaN if the step had none.
  real(real64) function session_loss(this, stat, errmsg)
    class(levin_session), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    session_loss = 0
    call conclude(c_loss(this%handle, session_loss), stat, errmsg)
  end function

  ! Ends the epoch after the newest batch.
  subroutine session_end_epoch(this, stat, errmsg)
    class(levin_session), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_end_epoch(this%handle), stat, errmsg)
  end subroutine

  ! Logs a value of the newest step.
  subroutine session_log(this, name, value, stat, errmsg)
    class(levin_session), intent(in) :: this
    character(*), intent(in) :: name
    real(real64), intent(in) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_log(this%handle, trim(name)//c_null_char, value), stat, errmsg)
  end subroutine

  ! Saves the checkpoints that are due, and one at `path` if it is given. Relative: below the run's `checkpoints`.
  subroutine session_save(this, path, stat, errmsg)
    class(levin_session), intent(in) :: this
    character(*), intent(in), optional :: path
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: c_path
    call to_c(path, c_path)
    call conclude(c_session_save(this%handle, c_path), stat, errmsg)
  end subroutine

  logical function session_due_to_save(this, stat, errmsg)
    class(levin_session), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: due
    due = 0
    call conclude(c_due_to_save(this%handle, due), stat, errmsg)
    session_due_to_save = due /= 0
  end function

  ! Makes a variable of the program a part of each checkpoint; in a resumed session it gets its saved value at once. It
  ! is contiguous, of any type without allocatable or pointer components, has the attribute TARGET, and stays until the
  ! session was destroyed. Call it before the first step.
  subroutine session_register_state(this, name, array, stat, errmsg)
    class(levin_session), intent(in) :: this
    character(*), intent(in) :: name
    type(*), dimension(..), intent(inout), target :: array
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_register(this%handle, trim(name)//c_null_char, array), stat, errmsg, "the state "//trim(name))
  end subroutine

  ! Returns the learning rate of an optimizer's parameter group; 1 and 1 if they are not given.
  real(real64) function session_rate(this, optimizer, group, stat, errmsg)
    class(levin_session), intent(in) :: this
    integer, intent(in), optional :: optimizer, group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    session_rate = 0
    call conclude(c_rate(this%handle, from_zero(optimizer), from_zero(group), session_rate), stat, errmsg)
  end function

  ! Sets the learning rate of all groups of an optimizer, the first if it is not given.
  subroutine session_set_rate(this, rate, optimizer, stat, errmsg)
    class(levin_session), intent(in) :: this
    real(real64), intent(in) :: rate
    integer, intent(in), optional :: optimizer
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_set_rate(this%handle, from_zero(optimizer), rate), stat, errmsg)
  end subroutine

  integer(c_int32_t) function from_zero(place)
    integer, intent(in), optional :: place
    from_zero = 0
    if (present(place)) from_zero = int(place - 1, c_int32_t)
  end function

  ! Returns the newest value of a logged metric, as of the last log point.
  real(real64) function session_metric(this, name, stat, errmsg)
    class(levin_session), intent(in) :: this
    character(*), intent(in) :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    session_metric = 0
    call conclude(c_metric(this%handle, trim(name)//c_null_char, session_metric), stat, errmsg)
  end function

  ! Returns the names of all metrics, one a line.
  function session_metrics(this, stat, errmsg) result(names)
    class(levin_session), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: names
    type(c_ptr) :: text
    text = c_null_ptr
    call conclude(c_metrics(this%handle, text), stat, errmsg)
    names = text_of(text)
  end function

  ! Returns the warnings, one a line.
  function session_warnings(this, stat, errmsg) result(lines)
    class(levin_session), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: lines
    type(c_ptr) :: text
    text = c_null_ptr
    call conclude(c_warnings(this%handle, text), stat, errmsg)
    lines = text_of(text)
  end function

  subroutine session_get_state(this, state, stat, errmsg)
    class(levin_session), intent(in) :: this
    type(levin_state), intent(out) :: state
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: counts(4)
    integer(c_int32_t) :: status, flags(2)
    status = c_state(this%handle, counts, state%seconds, flags)
    state%epoch = counts(1)
    state%step = counts(2)
    state%batches = counts(3)
    state%samples = counts(4)
    state%is_paused = flags(1) /= 0
    state%is_over = flags(2) /= 0
    call conclude(status, stat, errmsg)
  end subroutine

  ! Gives the model that is trained. Its weights may be read and set between steps.
  subroutine session_get_model(this, model, stat, errmsg)
    class(levin_session), intent(in) :: this
    type(levin_model), intent(inout) :: model
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: made
    integer(c_int32_t) :: status
    status = c_get_model(this%handle, made)
    if (status == levin_ok) call replace(is_model, model%handle, made)
    call conclude(status, stat, errmsg)
  end subroutine

  subroutine session_request_stop(this, reason, stat, errmsg)
    class(levin_session), intent(in) :: this
    character(*), intent(in), optional :: reason
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: c_reason
    call to_c(reason, c_reason)
    call conclude(c_request_stop(this%handle, c_reason), stat, errmsg)
  end subroutine

  subroutine session_request_save(this, path, stat, errmsg)
    class(levin_session), intent(in) :: this
    character(*), intent(in) :: path
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_request_save(this%handle, trim(path)//c_null_char), stat, errmsg)
  end subroutine

  ! Lets the training thread wait in its next step, until resume.
  subroutine session_pause(this, stat, errmsg)
    class(levin_session), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_pause(this%handle), stat, errmsg)
  end subroutine

  subroutine session_resume(this, stat, errmsg)
    class(levin_session), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_resume(this%handle), stat, errmsg)
  end subroutine

  ! Copies the weights for readers; the training thread calls it.
  subroutine session_publish(this, stat, errmsg)
    class(levin_session), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_publish(this%handle), stat, errmsg)
  end subroutine

  ! Ends the training: the epoch, checkpoints, weights.pt and summary.json if there is a run folder.
  subroutine session_finish(this, result, stat, errmsg)
    class(levin_session), intent(in) :: this
    type(levin_result), intent(out), optional :: result
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: counts(4)
    integer(c_int32_t) :: status, stopped
    real(c_double) :: seconds
    status = c_finish(this%handle, counts, seconds, stopped)
    if (present(result)) then
      result%epochs = counts(1)
      result%steps = counts(2)
      result%batches = counts(3)
      result%non_finite_step = counts(4)
      result%seconds = seconds
      result%stopped = stopped /= 0
    end if
    call conclude(status, stat, errmsg)
  end subroutine

  ! ---- inference while a session trains ----

  subroutine reader_create(this, session, stat, errmsg)
    class(levin_reader), intent(inout) :: this
    type(levin_session), intent(in) :: session
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: made
    integer(c_int32_t) :: status
    status = c_reader(session%handle, made)
    if (status == levin_ok) call replace(is_reader, this%handle, made)
    call conclude(status, stat, errmsg)
  end subroutine

  ! Takes the newest published weights. `step`: the optimizer steps after which they were copied; -1 before the first.
  subroutine reader_update(this, step, stat, errmsg)
    class(levin_reader), intent(in) :: this
    integer(int64), intent(out), optional :: step
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: newest
    integer(c_int32_t) :: status
    newest = -1
    status = c_reader_update(this%handle, newest)
    if (present(step)) step = newest
    call conclude(status, stat, errmsg)
  end subroutine

  subroutine reader_run(this, input, batch, function, stat, errmsg)
    class(levin_reader), intent(in) :: this
    type(*), dimension(..), intent(in), optional, target :: input
    type(levin_batch), intent(in), optional :: batch
    character(*), intent(in), optional :: function
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call run(is_reader, this%handle, input, batch, function, stat, errmsg)
  end subroutine

  subroutine reader_result(this, to, place, name, stat, errmsg)
    class(levin_reader), intent(in) :: this
    type(*), dimension(..), intent(inout), target :: to
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call copy_from(reader_result_, this%handle, to, place, name, stat, errmsg)
  end subroutine

  subroutine reader_result_array(this, array, place, name, stat, errmsg)
    class(levin_reader), intent(in) :: this
    type(levin_array), intent(inout) :: array
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call array_from(reader_result_, this%handle, array, place, name, stat, errmsg)
  end subroutine

  integer function reader_result_count(this, stat, errmsg)
    class(levin_reader), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    reader_result_count = count_of(reader_result_, this%handle, stat, errmsg)
  end function

end module
