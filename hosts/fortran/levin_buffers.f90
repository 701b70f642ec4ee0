! Replay and rollout buffers, for agents that learn from a simulation. A part of the module `levin`.
module levin_buffers
  use levin_arrays, only: collect, conclude, describe, described, levin_array, levin_batch, levin_ok
  use levin_handles, only: handle_of, levin_object, share_handle, take_handle
  use levin_kept, only: array_from, copy_from, count_of, of_drawn
  use, intrinsic :: iso_c_binding, only: c_double, c_int32_t, c_int64_t, c_ptr, c_size_t
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  private

  type, extends(levin_object), public :: levin_buffer
  contains
    procedure :: drawn
    procedure :: drawn_array
    procedure :: drawn_count
  end type

  ! Transitions of an agent, of which batches are drawn. Any thread may call it.
  type, extends(levin_buffer), public :: levin_replay
  contains
    procedure :: create => replay_create
    procedure :: add => replay_add
    procedure :: size => replay_size
    procedure :: sample => replay_sample
    procedure :: set_priorities => replay_set_priorities
    procedure, private :: replay_assign
    generic :: assignment(=) => replay_assign
  end type

  ! Steps of environments under the newest policy, with their advantages. Any thread may call it.
  type, extends(levin_buffer), public :: levin_rollout
  contains
    procedure :: create => rollout_create
    procedure :: add => rollout_add
    procedure :: is_full => rollout_is_full
    procedure :: finish => rollout_finish
    procedure :: next => rollout_next
    procedure, private :: rollout_assign
    generic :: assignment(=) => rollout_assign
  end type

  interface
    function c_replay(numbers, reals, replay) result(status) bind(C, name="levin_fortran_replay")
      import :: c_double, c_int32_t, c_int64_t, c_ptr
      integer(c_int64_t), intent(in) :: numbers(4)
      real(c_double), intent(in) :: reals(3)
      type(c_ptr), intent(out) :: replay
      integer(c_int32_t) :: status
    end function
    function c_rollout(numbers, reals, rollout) result(status) bind(C, name="levin_fortran_rollout")
      import :: c_double, c_int32_t, c_int64_t, c_ptr
      integer(c_int64_t), intent(in) :: numbers(6)
      real(c_double), intent(in) :: reals(2)
      type(c_ptr), intent(out) :: rollout
      integer(c_int32_t) :: status
    end function
    function c_add(buffer, arrays, count, first) result(status) bind(C, name="levin_fortran_add")
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t, described
      type(c_ptr), value :: buffer
      type(described), intent(in) :: arrays(*)
      integer(c_size_t), value :: count
      integer(c_int64_t), value :: first
      integer(c_int32_t) :: status
    end function
    function c_size(replay, size) result(status) bind(C, name="levin_replay_size")
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: replay
      integer(c_int64_t), intent(inout) :: size
      integer(c_int32_t) :: status
    end function
    function c_sample(replay, count) result(status) bind(C, name="levin_replay_sample")
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: replay
      integer(c_int64_t), value :: count
      integer(c_int32_t) :: status
    end function
    function c_priorities(replay, indices, priorities) result(status) bind(C, name="levin_fortran_priorities")
      import :: c_int32_t, c_ptr, described
      type(c_ptr), value :: replay
      type(described), intent(in) :: indices, priorities
      integer(c_int32_t) :: status
    end function
    function c_is_full(rollout, full) result(status) bind(C, name="levin_rollout_is_full")
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: rollout
      integer(c_int32_t), intent(inout) :: full
      integer(c_int32_t) :: status
    end function
    function c_advantages(rollout, last_values) result(status) bind(C, name="levin_fortran_advantages")
      import :: c_int32_t, c_ptr, described
      type(c_ptr), value :: rollout
      type(described), intent(in) :: last_values
      integer(c_int32_t) :: status
    end function
    function c_next(rollout, drawn) result(status) bind(C, name="levin_rollout_next")
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: rollout
      integer(c_int32_t), intent(inout) :: drawn
      integer(c_int32_t) :: status
    end function
  end interface

contains

  ! Makes an empty buffer. Without an option: capacity 100000, n_step 1, gamma 0.99, not prioritized, alpha 0.6, beta 0.4,
  ! seed 0.
  subroutine replay_create(this, capacity, n_step, gamma, prioritized, alpha, beta, seed, stat, errmsg)
    class(levin_replay), intent(inout) :: this
    integer, intent(in), optional :: capacity, n_step, seed
    real(real64), intent(in), optional :: gamma, alpha, beta
    logical, intent(in), optional :: prioritized
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: numbers(4)  ! 0 and 0.0: the default
    real(c_double) :: reals(3)
    integer(c_int32_t) :: status
    type(c_ptr) :: made
    numbers = 0
    reals = 0
    if (present(capacity)) numbers(1) = capacity
    if (present(n_step)) numbers(2) = n_step
    if (present(seed)) numbers(3) = seed
    if (present(prioritized)) numbers(4) = merge(1, 0, prioritized)
    if (present(gamma)) reals(1) = gamma
    if (present(alpha)) reals(2) = alpha
    if (present(beta)) reals(3) = beta
    status = c_replay(numbers, reals, made)
    if (status == levin_ok) call take_handle(this, made)
    call conclude(status, stat, errmsg)
  end subroutine

  ! Adds transitions, named arrays whose last dimension counts them; each is of another stream (environment), the first
  ! one of first_stream, 1 without it.
  subroutine replay_add(this, transitions, first_stream, stat, errmsg)
    class(levin_replay), intent(in) :: this
    type(levin_batch), intent(in) :: transitions
    integer, intent(in), optional :: first_stream
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call add(this, transitions, first_stream, stat, errmsg)
  end subroutine

  subroutine add(buffer, batch, first, stat, errmsg)
    class(levin_buffer), intent(in) :: buffer
    type(levin_batch), intent(in) :: batch
    integer, intent(in), optional :: first
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(described), allocatable :: arrays(:)
    character(:), allocatable :: subject
    integer(c_int64_t) :: from_zero
    integer(c_int32_t) :: status
    from_zero = 0
    if (present(first)) from_zero = first - 1
    call collect(arrays, status, subject, batch=batch)
    if (status == levin_ok) status = c_add(handle_of(buffer), arrays, size(arrays, kind=c_size_t), from_zero)
    call conclude(status, stat, errmsg)
  end subroutine

  ! Returns the number of transitions that are there.
  integer(int64) function replay_size(this, stat, errmsg)
    class(levin_replay), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    replay_size = 0
    call conclude(c_size(handle_of(this), replay_size), stat, errmsg)
  end function

  ! Draws transitions, for drawn: the arrays that were added, then "indices", "weights" and "discounts".
  subroutine replay_sample(this, count, stat, errmsg)
    class(levin_replay), intent(in) :: this
    integer, intent(in) :: count
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_sample(handle_of(this), int(count, c_int64_t)), stat, errmsg)
  end subroutine

  ! Sets the priorities of drawn transitions; indices: int64, as they were drawn.
  subroutine replay_set_priorities(this, indices, priorities, stat, errmsg)
    class(levin_replay), intent(in) :: this
    integer(int64), intent(in), target :: indices(:)
    type(*), dimension(..), intent(in), target :: priorities
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(described) :: of_indices, of_priorities
    integer(c_int32_t) :: status
    status = describe(indices, .false., of_indices)
    if (status == levin_ok) status = describe(priorities, .false., of_priorities)
    if (status == levin_ok) status = c_priorities(handle_of(this), of_indices, of_priorities)
    call conclude(status, stat, errmsg, "priorities=")
  end subroutine

  ! Makes an empty buffer. Without an option: steps 128, environments 1, batch_size 64, passes 10, gamma 0.99, gae_lambda
  ! 0.95, advantages normalized, seed 0.
  subroutine rollout_create(this, steps, environments, batch_size, passes, gamma, gae_lambda, keep_advantages, seed, stat, &
      errmsg)
    class(levin_rollout), intent(inout) :: this
    integer, intent(in), optional :: steps, environments, batch_size, passes, seed
    real(real64), intent(in), optional :: gamma, gae_lambda
    logical, intent(in), optional :: keep_advantages
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: numbers(6)  ! 0 and 0.0: the default
    real(c_double) :: reals(2)
    integer(c_int32_t) :: status
    type(c_ptr) :: made
    numbers = 0
    reals = 0
    if (present(steps)) numbers(1) = steps
    if (present(environments)) numbers(2) = environments
    if (present(batch_size)) numbers(3) = batch_size
    if (present(passes)) numbers(4) = passes
    if (present(seed)) numbers(5) = seed
    if (present(keep_advantages)) numbers(6) = merge(1, 0, keep_advantages)
    if (present(gamma)) reals(1) = gamma
    if (present(gae_lambda)) reals(2) = gae_lambda
    status = c_rollout(numbers, reals, made)
    if (status == levin_ok) call take_handle(this, made)
    call conclude(status, stat, errmsg)
  end subroutine

  ! Adds one step of environments, named arrays whose last dimension counts them, with "reward", "value" and "terminated".
  subroutine rollout_add(this, steps, first_environment, stat, errmsg)
    class(levin_rollout), intent(in) :: this
    type(levin_batch), intent(in) :: steps
    integer, intent(in), optional :: first_environment
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call add(this, steps, first_environment, stat, errmsg)
  end subroutine

  logical function rollout_is_full(this, stat, errmsg)
    class(levin_rollout), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: full
    full = 0
    call conclude(c_is_full(handle_of(this), full), stat, errmsg)
    rollout_is_full = full /= 0
  end function

  ! Computes advantages and returns; last_values(environments): the critic's estimates of what follows.
  subroutine rollout_finish(this, last_values, stat, errmsg)
    class(levin_rollout), intent(in) :: this
    type(*), dimension(..), intent(in), target :: last_values
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(described) :: values
    integer(c_int32_t) :: status
    status = describe(last_values, .false., values)
    if (status == levin_ok) status = c_advantages(handle_of(this), values)
    call conclude(status, stat, errmsg, "last_values=")
  end subroutine

  ! Draws the next minibatch, for drawn: what was added, "advantages" and "returns". False: none is left, and the buffer
  ! takes steps again.
  logical function rollout_next(this, stat, errmsg)
    class(levin_rollout), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: has_drawn
    has_drawn = 0
    call conclude(c_next(handle_of(this), has_drawn), stat, errmsg)
    rollout_next = has_drawn /= 0
  end function

  ! Copies an array of the newest draw.
  subroutine drawn(this, to, place, name, stat, errmsg)
    class(levin_buffer), intent(in) :: this
    type(*), dimension(..), intent(inout), target :: to
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call copy_from(of_drawn, this, to, place, name, stat, errmsg)
  end subroutine

  ! Gives an array of the newest draw where it lies.
  subroutine drawn_array(this, array, place, name, stat, errmsg)
    class(levin_buffer), intent(in) :: this
    type(levin_array), intent(inout) :: array
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call array_from(of_drawn, this, array, place, name, stat, errmsg)
  end subroutine

  integer function drawn_count(this, stat, errmsg)
    class(levin_buffer), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    drawn_count = count_of(of_drawn, this, stat, errmsg)
  end function

  impure elemental subroutine replay_assign(this, other)
    class(levin_replay), intent(inout) :: this
    type(levin_replay), intent(in) :: other
    call share_handle(this, handle_of(other))
  end subroutine

  impure elemental subroutine rollout_assign(this, other)
    class(levin_rollout), intent(inout) :: this
    type(levin_rollout), intent(in) :: other
    call share_handle(this, handle_of(other))
  end subroutine

end module
