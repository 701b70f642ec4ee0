! Training, and inference while it goes. A part of the module `levin`.
module levin_sessions
  use levin_arrays, only: collect, conclude, described, levin_batch, levin_invalid, levin_ok, to_c
  use levin_buffers, only: levin_buffer
  use levin_handles, only: handle_of, levin_object, share_handle, take_handle
  use levin_models, only: forward, input_gradients_flag, levin_call, levin_evaluated, levin_model, list_to_c
  use levin_texts, only: conclude_with, text_of
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_double, c_funloc, c_funptr, c_f_pointer, c_int32_t, &
    c_int64_t, c_loc, c_null_char, c_null_funptr, c_null_ptr, c_ptr, c_size_t
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  private
  public :: levin_log_sink, levin_loss_function, levin_source

  ! Ranks that the program has, for levin_session%start: levin_mpi_ranks of the module levin_mpi makes them of a
  ! communicator. It is the struct levin_ranks of levin/c_api.h.
  type, bind(C), public :: levin_ranks
    integer(c_size_t) :: struct_size = 0
    type(c_ptr) :: context = c_null_ptr
    integer(c_int32_t) :: rank = 0, size = 0, local_rank = 0, local_size = 0, node = 0
    type(c_funptr) :: begin = c_null_funptr, test = c_null_funptr, part = c_null_funptr, release = c_null_funptr, &
      error = c_null_funptr
  end type

  ! The counters of a session.
  type, public :: levin_state
    integer(int64) :: epoch = 0, step = 0, batches = 0, samples = 0
    real(real64) :: seconds = 0
    logical :: is_paused = .false., is_over = .false.
  end type

  ! What a training has done.
  type, public :: levin_result
    logical :: stopped = .false.           ! something asked it to end early
    integer(int64) :: epochs = 0, steps = 0, batches = 0
    integer(int64) :: non_finite_step = -1 ! the first step whose loss was NaN or infinite; -1: none
    real(real64) :: seconds = 0
  end type

  ! A training whose batches the program hands over. One thread trains; request_stop, request_save, pause, resume,
  ! get_state and metric may be called by any thread.
  type, extends(levin_object), public :: levin_session
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
    procedure :: register_buffer => session_register_buffer
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
    procedure, private :: session_assign
    generic :: assignment(=) => session_assign
  end type

  ! A copy of a session's model for one thread, with the published weights, which runs while the session trains.
  type, extends(levin_evaluated), public :: levin_reader
  contains
    procedure :: create => reader_create
    procedure :: update => reader_update
    procedure, private :: reader_assign
    generic :: assignment(=) => reader_assign
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

    ! Receives a metric that has a new value, in the thread that trains.
    subroutine levin_log_sink(name, value, step, epoch)
      import :: int64, real64
      character(*), intent(in) :: name
      real(real64), intent(in) :: value
      integer(int64), intent(in) :: step, epoch
    end subroutine
  end interface

  type :: loss_context
    procedure(levin_loss_function), pointer, nopass :: function => null()
  end type

  type :: source_context
    procedure(levin_source), pointer, nopass :: source => null()
    type(levin_batch) :: batch
    type(described), allocatable :: described(:)  ! stays until the next batch
  end type

  type :: sink_context
    procedure(levin_log_sink), pointer, nopass :: sink => null()
  end type

  interface
    function c_start(file, text, options, option_count, plugins, plugin_count, model, ckpt_path, batches_per_epoch, &
        host_saves, join_launcher, ranks, cuda_stream, give_metric, sink, free_sink, session) result(status) &
        bind(C, name="levin_fortran_start")
      import :: c_int32_t, c_int64_t, c_ptr, c_funptr, c_size_t, c_char
      character(kind=c_char), intent(in), optional :: file(*), text(*)
      character(kind=c_char), intent(in) :: options(*), plugins(*)
      integer(c_size_t), value :: option_count, plugin_count
      type(c_ptr), value :: model
      character(kind=c_char), intent(in), optional :: ckpt_path(*)
      integer(c_int64_t), value :: batches_per_epoch
      integer(c_int32_t), value :: host_saves, join_launcher
      type(c_ptr), value :: ranks, cuda_stream, sink
      type(c_funptr), value :: give_metric, free_sink
      type(c_ptr), intent(out) :: session
      integer(c_int32_t) :: status
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
    function c_register_buffer(session, name, buffer) result(status) bind(C, name="levin_fortran_register_buffer")
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: session, buffer
      character(kind=c_char), intent(in) :: name(*)
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

  ! Begins a training. The config is as for levin_model%create; `model` is trained in place of the config's, and stays
  ! usable. `ckpt_path`: a checkpoint to resume from: a file, a run's folder, "last", "best". `batches_per_epoch`: for
  ! schedulers that need the number of all steps. `host_saves`: checkpoints wait for save. `join_launcher`: the ranks
  ! that torchrun, mpirun or srun has started train together. `ranks`: those of the program's own communicator do; the
  ! session gives them back at its end. `log_sink` receives metrics, until the session has ended. `cuda_stream`: the
  ! cudaStream_t that the calls that train run on.
  subroutine session_start(this, text, file, options, plugins, model, ckpt_path, batches_per_epoch, host_saves, &
      join_launcher, ranks, log_sink, cuda_stream, stat, errmsg)
    class(levin_session), intent(inout) :: this
    character(*), intent(in), optional :: text, file
    character(*), intent(in), optional :: options(:), plugins(:)
    type(levin_model), intent(in), optional :: model
    character(*), intent(in), optional :: ckpt_path
    integer, intent(in), optional :: batches_per_epoch
    logical, intent(in), optional :: host_saves, join_launcher
    type(levin_ranks), intent(in), optional, target :: ranks
    procedure(levin_log_sink), optional :: log_sink
    type(c_ptr), intent(in), optional :: cuda_stream
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: c_file, c_text, c_options, c_plugins, c_ckpt_path
    integer(c_size_t) :: option_count, plugin_count
    integer(c_int64_t) :: batches
    integer(c_int32_t) :: saves, joins, status
    type(c_ptr) :: c_model, c_ranks, c_stream, c_sink, made
    type(sink_context), pointer :: sink
    call this%destroy()  ! a session before this one has then ended, and written its files
    c_model = c_null_ptr
    if (present(model)) then
      c_model = handle_of(model)
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
    c_stream = c_null_ptr
    if (present(cuda_stream)) c_stream = cuda_stream
    c_sink = c_null_ptr
    if (present(log_sink)) then
      allocate (sink)
      sink%sink => log_sink
      c_sink = c_loc(sink)
    end if
    call to_c(file, c_file)
    call to_c(text, c_text)
    call to_c(ckpt_path, c_ckpt_path)
    call list_to_c(options, c_options, option_count)
    call list_to_c(plugins, c_plugins, plugin_count)
    status = c_start(c_file, c_text, c_options, option_count, c_plugins, plugin_count, c_model, c_ckpt_path, batches, &
      saves, joins, c_ranks, c_stream, c_funloc(give_metric), c_sink, c_funloc(free_sink), made)
    call take_handle(this, made)
    call conclude(status, stat, errmsg)
  end subroutine

  subroutine give_metric(context, name, value, step, epoch) bind(C)
    type(c_ptr), value :: context, name
    real(c_double), value :: value
    integer(c_int64_t), value :: step, epoch
    type(sink_context), pointer :: given
    call c_f_pointer(context, given)
    call given%sink(text_of(name), real(value, real64), int(step, int64), int(epoch, int64))
  end subroutine

  subroutine free_sink(context) bind(C)
    type(c_ptr), value :: context
    type(sink_context), pointer :: given
    call c_f_pointer(context, given)
    deallocate (given)
  end subroutine

  ! Completes the newest batch, and says whether another one is wanted: not at a limit, not after a request to stop.
  logical function session_next(this, stat, errmsg)
    class(levin_session), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: wanted
    wanted = 0
    call conclude(c_next(handle_of(this), wanted), stat, errmsg)
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
    if (status == levin_ok) status = c_step(handle_of(this), arrays, size(arrays, kind=c_size_t), flags)
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
    call forward(this, call, wanted, input, batch, function, stat, errmsg)
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
    call step_handles(handle_of(this), loss, [handle_of(call)], trained, stepped, skipped, ended_epoch, stat, errmsg)
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
      handles(i) = handle_of(calls(i))
    end do
    call step_handles(handle_of(this), loss, handles, trained, stepped, skipped, ended_epoch, stat, errmsg)
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
    status = c_step_loss(handle_of(this), c_funloc(give_loss), c_loc(context), flags)
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
    call share_handle(variable, session)
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
    call conclude(c_fit(handle_of(this), c_funloc(give_batch), c_loc(of_train), c_validation), stat, errmsg)
  end subroutine

  ! Runs the model's validation_step over one epoch of a source.
  subroutine session_validate(this, source, stat, errmsg)
    class(levin_session), intent(in) :: this
    procedure(levin_source) :: source
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(source_context), target :: context
    context%source => source
    call conclude(c_validate(handle_of(this), c_funloc(give_batch), c_loc(context)), stat, errmsg)
  end subroutine

  integer(c_int32_t) function give_batch(context, epoch, number, arrays, capacity, count) bind(C)
    type(c_ptr), value :: context
    integer(c_int64_t), value :: epoch, number
    type(c_ptr), value :: arrays
    integer(c_size_t), value :: capacity
    integer(c_size_t), intent(inout) :: count
    type(source_context), pointer :: given
    character(:), allocatable :: subject
    integer :: stat
    call c_f_pointer(context, given)
    stat = levin_ok
    call given%batch%clear()
    call given%source(int(epoch, int64), int(number, int64), given%batch, stat)
    give_batch = int(stat, c_int32_t)
    if (stat /= levin_ok .or. given%batch%count() == 0) return
    call collect(given%described, give_batch, subject, batch=given%batch)
    if (give_batch == levin_ok) give_batch = c_fill(given%described, size(given%described, kind=c_size_t), arrays, capacity, count)
  end function

  ! Returns the newest step's loss; it waits for the device. NaN if the step had none.
  real(real64) function session_loss(this, stat, errmsg)
    class(levin_session), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    session_loss = 0
    call conclude(c_loss(handle_of(this), session_loss), stat, errmsg)
  end function

  ! Ends the epoch after the newest batch.
  subroutine session_end_epoch(this, stat, errmsg)
    class(levin_session), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_end_epoch(handle_of(this)), stat, errmsg)
  end subroutine

  ! Logs a value of the newest step.
  subroutine session_log(this, name, value, stat, errmsg)
    class(levin_session), intent(in) :: this
    character(*), intent(in) :: name
    real(real64), intent(in) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_log(handle_of(this), trim(name)//c_null_char, value), stat, errmsg)
  end subroutine

  ! Saves the checkpoints that are due, and one at `path` if it is given. Relative: below the run's `checkpoints`.
  subroutine session_save(this, path, stat, errmsg)
    class(levin_session), intent(in) :: this
    character(*), intent(in), optional :: path
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: c_path
    call to_c(path, c_path)
    call conclude(c_session_save(handle_of(this), c_path), stat, errmsg)
  end subroutine

  logical function session_due_to_save(this, stat, errmsg)
    class(levin_session), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: due
    due = 0
    call conclude(c_due_to_save(handle_of(this), due), stat, errmsg)
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
    call conclude(c_register(handle_of(this), trim(name)//c_null_char, array), stat, errmsg, "the state "//trim(name))
  end subroutine

  ! Makes a replay or rollout buffer a part of the session's checkpoints. Call it before the first step.
  subroutine session_register_buffer(this, name, buffer, stat, errmsg)
    class(levin_session), intent(in) :: this
    character(*), intent(in) :: name
    class(levin_buffer), intent(in) :: buffer
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_register_buffer(handle_of(this), trim(name)//c_null_char, handle_of(buffer)), stat, errmsg)
  end subroutine

  ! Returns the learning rate of an optimizer's parameter group; 1 and 1 if they are not given.
  real(real64) function session_rate(this, optimizer, group, stat, errmsg)
    class(levin_session), intent(in) :: this
    integer, intent(in), optional :: optimizer, group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    session_rate = 0
    call conclude(c_rate(handle_of(this), from_zero(optimizer), from_zero(group), session_rate), stat, errmsg)
  end function

  ! Sets the learning rate of all groups of an optimizer, the first if it is not given.
  subroutine session_set_rate(this, rate, optimizer, stat, errmsg)
    class(levin_session), intent(in) :: this
    real(real64), intent(in) :: rate
    integer, intent(in), optional :: optimizer
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_set_rate(handle_of(this), from_zero(optimizer), rate), stat, errmsg)
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
    call conclude(c_metric(handle_of(this), trim(name)//c_null_char, session_metric), stat, errmsg)
  end function

  ! Returns the names of all metrics, one a line.
  function session_metrics(this, stat, errmsg) result(names)
    class(levin_session), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: names
    type(c_ptr) :: text
    text = c_null_ptr
    call conclude(c_metrics(handle_of(this), text), stat, errmsg)
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
    call conclude(c_warnings(handle_of(this), text), stat, errmsg)
    lines = text_of(text)
  end function

  subroutine session_get_state(this, state, stat, errmsg)
    class(levin_session), intent(in) :: this
    type(levin_state), intent(out) :: state
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: counts(4)
    integer(c_int32_t) :: status, flags(2)
    status = c_state(handle_of(this), counts, state%seconds, flags)
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
    status = c_get_model(handle_of(this), made)
    if (status == levin_ok) call take_handle(model, made)
    call conclude(status, stat, errmsg)
  end subroutine

  subroutine session_request_stop(this, reason, stat, errmsg)
    class(levin_session), intent(in) :: this
    character(*), intent(in), optional :: reason
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: c_reason
    call to_c(reason, c_reason)
    call conclude(c_request_stop(handle_of(this), c_reason), stat, errmsg)
  end subroutine

  subroutine session_request_save(this, path, stat, errmsg)
    class(levin_session), intent(in) :: this
    character(*), intent(in) :: path
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_request_save(handle_of(this), trim(path)//c_null_char), stat, errmsg)
  end subroutine

  ! Lets the training thread wait in its next step, until resume.
  subroutine session_pause(this, stat, errmsg)
    class(levin_session), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_pause(handle_of(this)), stat, errmsg)
  end subroutine

  subroutine session_resume(this, stat, errmsg)
    class(levin_session), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_resume(handle_of(this)), stat, errmsg)
  end subroutine

  ! Copies the weights for readers; the training thread calls it.
  subroutine session_publish(this, stat, errmsg)
    class(levin_session), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_publish(handle_of(this)), stat, errmsg)
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
    status = c_finish(handle_of(this), counts, seconds, stopped)
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

  subroutine reader_create(this, session, stat, errmsg)
    class(levin_reader), intent(inout) :: this
    type(levin_session), intent(in) :: session
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: made
    integer(c_int32_t) :: status
    status = c_reader(handle_of(session), made)
    if (status == levin_ok) call take_handle(this, made)
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
    status = c_reader_update(handle_of(this), newest)
    if (present(step)) step = newest
    call conclude(status, stat, errmsg)
  end subroutine

  impure elemental subroutine session_assign(this, other)
    class(levin_session), intent(inout) :: this
    type(levin_session), intent(in) :: other
    call share_handle(this, handle_of(other))
  end subroutine

  impure elemental subroutine reader_assign(this, other)
    class(levin_reader), intent(inout) :: this
    type(levin_reader), intent(in) :: other
    call share_handle(this, handle_of(other))
  end subroutine

end module
