! Descriptions, buffers, log sinks, means and DLPack of the module `levin`.
module buffer_cases
  use shared_checks
  implicit none

  integer :: told = 0
  real(real64) :: told_loss = 0

contains

  ! What a model takes and returns is known before it runs.
  subroutine models_describe_themselves()
    type(levin_model) :: model
    type(levin_array) :: array
    real(real64) :: numbers(features, samples)
    integer :: stat
    character(200) :: errmsg
    call model%create(classes)
    call check(model%input_count() == 2 .and. model%output_count() == 1, "two inputs and an output")
    call model%input_array(array)
    call check(array%name == "input" .and. array%dtype == levin_float32, "the numbers of a table")
    call check(all(array%shape == [features, -1]), "whose samples are any")
    call array%copy(numbers, stat, errmsg)
    call refused(stat, errmsg, "the levin_array is empty")
    call model%input_array(array, name="category")
    call check(array%dtype == levin_int64 .and. all(array%shape == [2, -1]), "the categories of a table")
    call model%output_array(array)
    call check(all(array%shape == [3, -1]), "one probability of each class")
    call model%input_array(array, place=3, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, "there is no array 2")
  end subroutine

  ! A replay buffer that comes back with a checkpoint draws what the first one draws.
  subroutine buffers_are_drawn_from_and_resumed()
    type(levin_replay) :: replay, other
    type(levin_rollout) :: rollout
    type(levin_session) :: session
    type(levin_batch) :: batch
    real(real32), target :: state(features, 20), reward(20), drawn(features, 4), again(features, 4), weights(4)
    real(real32), target :: value(2), last_values(2), part(features, 2), advantages(4)
    logical(c_bool), target :: terminated(2)
    integer(int64) :: indices(4)
    integer :: i, minibatches, stat
    character(200) :: errmsg
    state = reshape([(real(mod(7 * i, 11), real32), i=1, size(state))], shape(state))
    reward = state(1, :)
    call replay%create(capacity=100, prioritized=.true., seed=4)
    call other%create(capacity=100, prioritized=.true., seed=9)
    call batch%add("state", state)
    call batch%add("reward", reward)
    call replay%add(batch)
    call check(replay%size() == 20, "transitions were added")
    call session%start(no_dropout)
    call session%register_buffer("replay", replay)
    call train(session, 0, 2, "real64")
    call session%save("buffers.ckpt")
    call replay%sample(4)
    call check(replay%drawn_count() == 5, "two arrays, indices, weights and discounts")
    call replay%drawn(drawn, name="state")
    call replay%drawn(indices, name="indices")
    call replay%drawn(weights, name="weights")
    call check(all(weights > 0), "weights of priorities")
    do i = 1, 4
      call check(all(abs(drawn(:, i) - state(:, indices(i) + 1)) < 1e-6), "a transition is one that was added")
    end do
    call replay%set_priorities(indices, weights)
    call session%start(no_dropout, ckpt_path="checkpoints/buffers.ckpt")
    call session%register_buffer("replay", other)
    call check(other%size() == 20, "a buffer comes back with the checkpoint")
    call other%sample(4)
    call other%drawn(again, name="state")
    call check(all(drawn .same. again), "and draws what the first one drew")
    call session%destroy()
    call replay%drawn(drawn, name="absent", stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, "names no array")
    other = replay
    call replay%destroy()
    call check(other%size() == 20 .and. .not. replay%is_set(), "buffers are shared")

    call rollout%create(steps=4, environments=2, batch_size=4, passes=2)
    call check(.not. rollout%next(), "nothing to draw yet")
    value = 0
    last_values = 0
    terminated = .false.
    do while (.not. rollout%is_full())
      part = state(:, 1:2)
      call batch%clear()
      call batch%add("state", part)
      call batch%add("reward", reward(1:2))
      call batch%add("value", value)
      call batch%add("terminated", terminated)
      call rollout%add(batch)
    end do
    call rollout%finish(last_values)
    minibatches = 0
    do while (rollout%next())
      call rollout%drawn(advantages, name="advantages")
      minibatches = minibatches + 1
    end do
    call check(minibatches == 4, "two passes of two minibatches")
  end subroutine

  ! A procedure of the program receives each new metric, until the session ends.
  subroutine metrics_are_told()
    type(levin_session) :: session
    type(levin_session) :: refused_one
    integer :: stat
    told = 0
    call session%start(no_dropout, options=["trainer.log_every_n_steps=1"], log_sink=take_metric)
    call train(session, 0, 5, "real64")
    call check(told >= 4, "each step's loss is told")
    call check(abs(told_loss - session%metric("train_loss")) < 1e-12, "the newest one is the metric")
    call session%destroy()
    call refused_one%start("{", log_sink=take_metric, stat=stat)
    call check(stat == levin_invalid, "a sink of a session that was not made")
  end subroutine

  subroutine take_metric(name, value, step, epoch)
    character(*), intent(in) :: name
    real(real64), intent(in) :: value
    integer(int64), intent(in) :: step, epoch
    if (name /= "train_loss") return
    call check(step >= 0 .and. epoch == 0, "a metric's step and epoch")
    told = told + 1
    told_loss = value
  end subroutine

  ! Means of weights, and arrays of DLPack.
  subroutine arrays_travel()
    type(levin_model) :: model
    type(levin_array) :: array
    type(levin_batch) :: batch
    type(c_ptr) :: tensor
    real(real64), target :: one(3), two(3), mean(3)
    real(real32), target :: x(features, samples)
    real(real32) :: y(outputs, samples), again(outputs, samples)
    integer :: stat
    character(200) :: errmsg
    one = [1, 2, 3]
    two = [5, 6, 7]
    call batch%add("one", one)
    call batch%add("two", two)
    call levin_mean(batch, mean)
    call check(all(nint(mean) == [3, 4, 5]), "a mean")
    call levin_mean(batch, mean, [3.0_real64, 1.0_real64])
    call check(all(nint(mean) == [2, 3, 4]), "a weighted mean")
    call levin_mean(batch, mean, [1.0_real64], stat, errmsg)
    call refused(stat, errmsg, "as many numbers")

    call model%create(no_dropout)
    x = reshape([(real(mod(5 * stat, 7), real32), stat=1, size(x))], shape(x))
    call model%run(x)
    call model%result(y)
    call model%weight_array(array, name="net.layers.0.weight")
    tensor = array%to_dlpack()
    call check(c_associated(tensor), "a tensor of DLPack")
    call batch%clear()
    call batch%add_dlpack("weight", tensor)
    call check(batch%count() == 1, "comes back")
    call delete_dlpack(tensor)
    call model%result_array(array)
    tensor = array%to_dlpack()
    call model%run(x)  ! its memory stays as long as the tensor
    call batch%clear()
    call batch%add_dlpack("result", tensor)
    call levin_mean(batch, again)
    call check(all(again .same. y), "an array of DLPack is read where it lies")
    call delete_dlpack(tensor)
    call batch%add_dlpack("null", c_null_ptr, stat, errmsg)
    call refused(stat, errmsg, "is null")
  end subroutine

end module
