! The module `levin`: what a Fortran program trains has the bits of the same batches through C, and mistakes are told.
module fortran_cases
  use shared_checks
  implicit none

  ! What the procedures that levin calls share with the cases. (Internal procedures would do, but those of gfortran need
  ! an executable stack.)
  real(real64) :: input(features, samples), target(outputs, samples)
  real(real32) :: output(outputs, samples), gradient(outputs, samples), of_input(features, samples)
  real(real64), target :: source_input(features, samples), source_target(outputs, samples)
  type(levin_call) :: newest_call
  integer :: train_calls = 0

contains

  subroutine the_library_tells_its_version()
    character(:), allocatable :: name
    integer :: stat
    call check(index(levin_build(), levin_version()) > 0, "a version")
    call check(levin_device_count() >= 1, "a device")
    name = levin_device_name(1)
    call check(name == "CPU", "the first device is the CPU")
    name = levin_device_name(1000, stat)
    call check(stat == levin_invalid, "there are fewer devices")
  end subroutine

  ! Every kind and rank goes to levin and back, with the dimensions reversed twice.
  subroutine arrays_are_described()
    integer(int32), target :: five(2, 3, 2, 3, 2), scalar, i
    real(real64), target :: back_five(2, 3, 2, 3, 2), back_scalar
    real(real32), target :: line(9), back_line(4), image(3, 4, 5)
    integer(int64), target :: back_image(3, 4, 5)
    logical, target :: flags(5)
    logical(c_bool), target :: small_flags(5), back_flags(5)
    integer(int32), target :: back_numbers(5)
    integer(int8), target :: tiny_numbers(5)
    integer(int16), target :: short_numbers(5)
    complex(real64), target :: numbers(3)
    type :: odd
      sequence
      real(real32) :: value
      character(2) :: more
    end type
    type(odd), target :: odds(3)
    real(real32), pointer :: nothing(:)
    real(real32), allocatable :: unset(:)
    type(opaque) :: from, to

    back_five = 0
    back_scalar = 0
    back_line = 0
    back_image = 0
    back_flags = .false.
    back_numbers = 0
    tiny_numbers = 0
    short_numbers = 0
    five = reshape([(i, i=1, size(five))], shape(five))
    call copy_between(describe(five, 0, 1, from), describe(back_five, 1, 1, to), "rank 5")
    call check(all(nint(back_five) == five), "an array of rank 5 has its order")
    call copy_between(describe(five(2:1:-1, :, 1:2, 3:1:-2, :), 0, 1, from), &
      describe(back_five(:, :, :, 1:2, :), 1, 1, to), "a section of rank 5")
    call check(all(nint(back_five(:, :, :, 1:2, :)) == five(2:1:-1, :, 1:2, 3:1:-2, :)), "a section of rank 5")
    scalar = 7
    call copy_between(describe(scalar, 0, 1, from), describe(back_scalar, 1, 1, to), "a scalar")
    call check(nint(back_scalar) == 7, "a scalar")
    line = [(real(i, real32), i=1, 9)]
    call copy_between(describe(line(8:1:-2), 0, 1, from), describe(back_line(4:1:-1), 1, 1, to), "a reversed line")
    call check(all(back_line .same. line(2:8:2)), "a reversed line")
    image = reshape([(real(i, real32), i=1, 60)], shape(image))
    call copy_between(describe(image, 0, 1, from), describe(back_image, 1, 1, to), "rank 3")
    call check(all(back_image == nint(image)), "an array of rank 3")

    flags = [.true., .false., .false., .true., .true.]
    call copy_between(describe(flags, 0, 1, from), describe(back_numbers, 1, 1, to), "default logical")
    call check(all(back_numbers == merge(1, 0, flags)), "a default logical")
    call copy_between(describe(flags(5:1:-1), 0, 1, from), describe(back_flags, 1, 1, to), "a section of logicals")
    call check(all(back_flags .eqv. flags(5:1:-1)), "a section of default logicals")
    small_flags = flags
    call copy_between(describe(small_flags, 0, 1, from), describe(tiny_numbers, 1, 1, to), "logical(c_bool)")
    call check(all(tiny_numbers == merge(1, 0, flags)), "a logical(c_bool)")
    call copy_between(describe(tiny_numbers, 0, 1, from), describe(short_numbers, 1, 1, to), "small integers")
    call check(all(short_numbers == tiny_numbers), "integers of 1 and 2 bytes")

    numbers = 0
    allocate (nothing(3))
    deallocate (nothing)
    call check(describe(flags, 1, 1, from) == -5, "a result is no default logical")
    call check(describe(flags, 0, 0, from) == -6, "logicals of other compilers are refused")
    call check(describe(numbers, 0, 1, from) == -3, "complex numbers are refused")
    call check(describe(numbers%re, 0, 1, from) == 0, "their real parts are not")
    odds%value = 1
    call check(describe(odds(:)%value, 0, 1, from) == merge(-4, 0, mod(storage_size(odds) / 8, 4) /= 0), &
      "components whose distance is no multiple")
    call check(describe(nothing, 0, 1, from) == -1, "a null pointer is refused")
    allocate (unset(3))
    deallocate (unset)
    call check(describe(unset, 0, 1, from) == -1, "an array that is not allocated is refused")
  contains
    subroutine copy_between(reason, other_reason, what)
      integer(c_int32_t), intent(in) :: reason, other_reason
      character(*), intent(in) :: what
      call check(reason == 0 .and. other_reason == 0, what//" is described")
      call check(copy_described(from, to) == 0, what//" is copied")
    end subroutine
  end subroutine

  ! Arrays of any kind and layout train to the bits of row-major arrays through C, also if the session is resumed.
  subroutine training_has_the_bits_of_c()
    character(20), parameter :: layouts(5) = [character(20) :: "real64", "real32", "sections of real64", &
      "sections of real32", "reversed sections"]
    character(*), parameter :: checkpoint = "fortran_test.ckpt"
    integer, parameter :: steps = 60
    real(real64), allocatable :: flat(:), expected(:)
    real(real64) :: solver(4), resumed_solver(2, 2)
    type(levin_session) :: session
    type(levin_state) :: state
    type(levin_result) :: result
    integer :: i, stat
    character(200) :: errmsg
    do i = 1, size(layouts)
      call session%start(regression)
      call train(session, 0, steps, trim(layouts(i)))
      call weights_of(session, flat)
      if (.not. allocated(expected)) then
        allocate (expected(size(flat)))
        call row_major_regression(regression//c_null_char, steps, expected, size(expected, kind=c_int64_t))
      end if
      call check(are_same(flat, expected), "the weights of "//trim(layouts(i))//" are those of C")
      call session%get_state(state)
      call check(state%batches == steps .and. state%step == steps .and. state%samples == steps * samples .and. &
        .not. state%is_over, "the session counts")
      call session%finish(result)
      call check(result%steps == steps .and. .not. result%stopped .and. result%non_finite_step == -1, "the result")

      call session%start(regression)
      solver = [1, 2, 3, 4]
      call session%register_state("solver", solver)
      call train(session, 0, 25, trim(layouts(i)))
      solver = 10 * solver
      call session%save(checkpoint)
      call session%destroy()
      call session%start(regression, ckpt_path="checkpoints/"//checkpoint)
      resumed_solver = 0
      call session%register_state("solver", resumed_solver)
      call check(all(nint(resumed_solver) == reshape([10, 20, 30, 40], [2, 2])), "the solver's state comes back")
      call train(session, 25, steps, trim(layouts(i)))
      call weights_of(session, flat)
      call check(are_same(flat, expected), "resumed in between, too: "//trim(layouts(i)))
    end do
    call session%start(regression, ckpt_path="checkpoints/"//checkpoint)
    call session%register_state("solver", solver(1:3), stat, errmsg)
    call refused(stat, errmsg, "the state solver has another size")
    call session%register_state("other", solver(1:4:2), stat, errmsg)
    call refused(stat, errmsg, "is not contiguous")
    call remove("checkpoints/"//checkpoint)
  end subroutine

  subroutine remove(path)
    character(*), intent(in) :: path
    integer :: unit, stat
    open (newunit=unit, file=path, status="old", iostat=stat)
    if (stat == 0) close (unit, status="delete")
  end subroutine

  ! Named arrays, with targets of int32 and categories of int32, and a mask that the model does not read.
  subroutine classes_take_integers_and_logicals()
    integer, parameter :: steps = 20
    real(real64) :: input64(features, samples), unused(outputs, samples)
    real(real32), target :: input(features, samples)
    integer(int32), target :: category(2, samples), classes_of(samples)
    logical, target :: mask(samples)
    logical(c_bool), target :: small_mask(samples)
    type(levin_batch) :: batch, copied
    type(levin_session) :: session
    type(levin_model) :: model
    real(real64), allocatable :: flat(:), expected(:)
    real(real32) :: probabilities(3, samples)
    integer :: step, i
    call session%start(classes)
    do step = 0, steps - 1
      call fill(step, input64, unused)
      input = real(input64, real32)
      do i = 1, samples
        category(:, i) = [mod(step + i - 1, 4), mod(step + i, 4)]
        classes_of(i) = mod(step + i - 1, 3)
        mask(i) = mod(i, 2) == 0
      end do
      small_mask = mask
      call batch%clear()
      call batch%add("category", category)
      call batch%add("mask", mask)
      call batch%add("small_mask", small_mask)
      copied = batch
      call check(copied%count() == 3, "a batch is copied")
      call check(session%next(), "classes: another batch is wanted")
      call session%step(input, classes_of, copied)
    end do
    call check(session%next(), "classes: training goes on")
    call weights_of(session, flat)
    allocate (expected(size(flat)))
    call row_major_classes(classes//c_null_char, steps, expected, size(expected, kind=c_int64_t))
    call check(are_same(flat, expected), "classes have the weights of C")
    call session%get_model(model)
    call batch%clear()
    call batch%add("category", category)
    call model%run(input, batch)
    call model%result(probabilities)
    call check(all(abs(sum(probabilities, 1) - 1) < 1e-5_real32), "the first dimension is that of the classes")
  end subroutine

  ! The weights after steps with the program's own loss are those of the model's own.
  subroutine a_loss_of_the_program()
    integer, parameter :: steps = 30
    real(real64) :: loss
    real(real64), allocatable :: expected(:), flat(:), in_function(:)
    type(levin_session) :: session
    type(levin_call) :: calls(2)
    integer :: step, stat
    character(200) :: errmsg
    allocate (expected(0))
    call session%start(no_dropout)
    call train(session, 0, steps, "real64")
    call weights_of(session, expected)

    call session%start(no_dropout)
    do step = 0, steps - 1
      call check(session%next(), "own loss: another batch is wanted")
      call fill(step, input, target)
      call adjoint(session, loss, stat)
      call session%step_calls(loss, newest_call)
      call check(abs(session%loss() - loss) < 1e-6, "the loss is the program's")
      call check(any(abs(of_input) > 0), "the inputs have gradients")
    end do
    call check(session%next(), "own loss: training goes on")
    call weights_of(session, flat)
    call check(are_same(flat, expected), "the program's loss gives the model's weights")

    call session%start(no_dropout)
    do step = 0, steps - 1
      call check(session%next(), "loss function: another batch is wanted")
      call fill(step, input, target)
      call session%step_loss(adjoint)
    end do
    call check(session%next(), "loss function: training goes on")
    call weights_of(session, in_function)
    call check(are_same(in_function, expected), "a loss function gives the model's weights")
    call session%step_loss(fails, stat=stat, errmsg=errmsg)
    call check(stat == levin_failed, "a loss function may fail")

    ! Two calls of half of the samples each.
    call session%start(no_dropout)
    do step = 0, steps - 1
      call check(session%next(), "two calls: another batch is wanted")
      call fill(step, input, target)
      call session%forward(calls(1), input(:, 1::2))
      call session%forward(calls(2), input(:, 2::2))
      call calls(1)%output(output(:, 1::2))
      call calls(2)%output(output(:, 2::2))
      gradient = (2.0 / size(output)) * (output - real(target, real32))
      call calls(1)%backward(gradient(:, 1::2))
      call calls(2)%backward(gradient(:, 2::2))
      call session%step_calls(0.5_real64, calls)
    end do
    call check(session%next(), "two calls: training goes on")
    call weights_of(session, flat)
    call check(maxval(abs(flat - expected)) < 1e-4, "two calls give the gradient of both")
  end subroutine

  ! The adjoint of the mean squared error, as a solver would give it.
  subroutine adjoint(session, loss, stat)
    type(levin_session), intent(inout) :: session
    real(real64), intent(out) :: loss
    integer, intent(inout) :: stat
    stat = levin_ok
    call session%forward(newest_call, input, function="forward", input_gradients=.true.)
    call newest_call%output(output)
    loss = sum((output - real(target, real32))**2) / size(output)
    gradient = (2 * (output - real(target, real32))) / size(output)
    call newest_call%backward(gradient)
    call newest_call%input_gradient(of_input)
  end subroutine

  subroutine fails(session, loss, stat)
    type(levin_session), intent(inout) :: session
    real(real64), intent(out) :: loss
    integer, intent(inout) :: stat
    loss = 0
    stat = merge(5, 6, session%is_set())
  end subroutine

  ! Results are copied, and pointed to where they lie; gradients are those of differences.
  subroutine a_model_is_a_function()
    type(levin_model) :: model, other
    type(levin_call) :: call
    type(levin_array) :: array
    real(real64) :: input(features, samples), unused(outputs, samples), result(outputs, samples)
    real(real64) :: more(outputs, samples), less(outputs, samples)
    real(real64) :: changed(features, samples), gradient(features, samples)
    real(real32) :: single(outputs, samples), direction(outputs, samples), bias(outputs)
    real(real32), pointer :: pointer(:, :), line(:)
    real(real64), pointer :: wrong(:, :)
    real(real64), allocatable :: flat(:), other_flat(:)
    type(levin_batch) :: batch
    real(real32), target :: named(outputs, samples)
    real(real64), parameter :: step = 1e-2_real64
    integer :: stat, j
    character(200) :: errmsg
    call model%create(no_dropout, options=["model.hidden=[8,8]"])
    call check(model%weight_count() == 6, "an option is read")
    call fill(3, input, unused)
    call model%run(input)
    call check(model%result_count() == 1, "one result")
    call model%result(result)
    call model%result(single)
    call check(all(real(single, real64) .same. result), "results are converted")
    call model%result_array(array)
    call check(all(array%shape == [outputs, samples]) .and. array%dtype == levin_float32, "a result's shape")
    call array%point(pointer)
    call check(all(shape(pointer) == shape(single)) .and. all(pointer .same. single), "a pointer to a result")
    call array%point(wrong, stat, errmsg)
    call refused(stat, errmsg, "has another type")
    call array%point(line, stat, errmsg)
    call refused(stat, errmsg, "has another rank")
    more = 0
    call array%copy(more(:, samples:1:-1))
    call check(all(more(:, samples:1:-1) .same. result), "an array is copied to a reversed section")

    direction = real(unused, real32)
    call model%forward(call, input, input_gradients=.true., weight_gradients=.true.)
    call call%output(single)
    call check(all(real(single, real64) .same. result), "a call has the model's output")
    call call%input_gradient(gradient, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, "no backward yet")
    call call%backward(direction)
    call call%input_gradient(gradient)
    do j = 1, features
      changed = input
      changed(j, 2) = input(j, 2) + step
      call model%run(changed)
      call model%result(more)
      changed(j, 2) = input(j, 2) - step
      call model%run(changed)
      call model%result(less)
      call check(abs(sum((more - less) * direction) / (2 * step) - gradient(j, 2)) < 5e-3, "gradients by differences")
    end do
    call check(call%weight_gradient_count() == 6, "each parameter has a gradient")
    call call%weight_gradient(bias, name="net.layers.4.bias")
    call check(all(abs(bias - sum(direction, 2)) < 1e-4), "the gradient of a bias")
    call call%weight_gradient_array(array, place=6)
    call check(array%name == "net.layers.4.bias", "a gradient has its parameter's name")
    call call%backward(direction, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, "has had its backward")

    ! Gradients by the outputs' names.
    call model%forward(call, input, input_gradients=.true.)
    call call%output_array(array)
    named = direction
    call batch%add(array%name, named)
    call call%backward(batch=batch)
    call call%input_gradient(changed)
    call check(all(changed .same. gradient), "a gradient by its output's name")
    call batch%add("absent", named)
    call model%forward(call, input)
    call call%backward(batch=batch, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, "names no array")

    allocate (flat(model%weights_size()))
    call model%get_weights(flat)
    call other%create(no_dropout, options=["model.hidden=[8,8]", "seed=9            "])
    allocate (other_flat, mold=flat)
    call other%get_weights(other_flat)
    call check(.not. are_same(flat, other_flat), "another seed draws other weights")
    call other%set_weights(flat)
    call other%run(input)
    call other%result(more)
    call check(all(more .same. result), "weights travel as one array")
    call other%weight_array(array, name="net.layers.4.weight")
    call array%point(pointer)
    call check(all(shape(pointer) == [8, outputs]), "a weight has its dimensions reversed")
    pointer = 0
    call other%weight_array(array, name="net.layers.4.bias")
    call array%point(line)
    line = [1.0, 2.0]
    call other%run(input)
    call other%result(single)
    call check(all(nint(single(1, :)) == 1) .and. all(nint(single(2, :)) == 2), "a pointer to a weight is the weight")
    call model%save("fortran_test.safetensors")
    call other%create(no_dropout, options=["model.hidden=[8,8]"], weights="fortran_test.safetensors")
    call other%get_weights(other_flat)
    call check(are_same(flat, other_flat), "weights are saved and read")
    call remove("fortran_test.safetensors")
  end subroutine

  ! Mistakes are told by stat= and errmsg=, and change nothing.
  subroutine mistakes_are_told()
    type(levin_session) :: session
    type(levin_model) :: model
    type(levin_reader) :: reader
    type(levin_batch) :: batch
    type(levin_array) :: array
    real(real32), pointer :: pointer(:, :)
    complex(real32) :: numbers(features, samples)
    real(real32) :: input(features, samples), wide(samples, features)
    logical :: flags(outputs, samples)
    integer :: stat
    real(real64) :: value
    character(300) :: errmsg
    character(8) :: short
    numbers = 0
    input = 0
    wide = 0
    stat = 77
    errmsg = "unchanged"
    call session%start("{", stat=stat, errmsg=errmsg)
    call check(stat == levin_invalid .and. errmsg /= "unchanged", "a config that is no JSON is refused")
    call session%start(trainer//'"model": {"class": "Absent"}}', stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, "Absent")
    short = ""
    call session%start(trainer//'"model": {"class": "Absent"}}', stat=stat, errmsg=short)
    call check(stat == levin_invalid .and. len_trim(short) > 0, "a short errmsg is filled as far as it goes")
    call check(.not. session%is_set(), "no session was made")
    call check(.not. session%next(stat, errmsg), "no batch is wanted")
    call refused(stat, errmsg, "is null")
    call session%start(no_dropout, model=model, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, "was not created")
    call reader%create(session, stat, errmsg)
    call refused(stat, errmsg, "is null")

    call session%start(no_dropout, stat=stat, errmsg=errmsg)
    call check(stat == levin_ok, "a good call sets stat to 0")
    call session%get_model(model)
    call model%run(wide, stat=stat, errmsg=errmsg)
    call check(stat /= levin_ok .and. index(errmsg, "[3, 8]") > 0, "a model names the shape in its own order: "//errmsg)
    call model%run(numbers, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, "input= has a type that levin lacks")
    call model%run(input, function="absent", stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, "absent")
    call model%run(input)
    call model%result(wide, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, "have the shapes [8, 2] and [3, 8]")
    call model%result(flags, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, "results go to logical(c_bool)")
    call model%create("{", stat=stat, errmsg=errmsg)
    call check(stat == levin_invalid, "a config that is no JSON is refused")
    call check(model%result_count() == 1, "a model stays if its next one fails")
    call model%result(input, place=2, stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, "there is no array 1")
    call model%weight(input, name="absent", stat=stat, errmsg=errmsg)
    call refused(stat, errmsg, "name= names no array")
    call array%copy(input, stat, errmsg)
    call refused(stat, errmsg, "the levin_array is empty")
    call array%point(pointer, stat, errmsg)
    call refused(stat, errmsg, "the levin_array is empty")
    call check(.not. associated(pointer), "a pointer is null after an error")
    call batch%add("", input, stat, errmsg)
    call refused(stat, errmsg, "has 1 to 127 characters")
    call batch%add("numbers", numbers, stat, errmsg)
    call refused(stat, errmsg, "the array numbers has a type")
    call check(batch%count() == 0, "a refused array is not added")
    call assumed_size(input)
    value = session%metric("absent", stat, errmsg)
    call refused(stat, errmsg, "no metric absent")
    value = session%rate(optimizer=2, stat=stat, errmsg=errmsg)
    call check(stat == levin_invalid, "there is one optimizer")
    call session%save("/dev/null/a.ckpt", stat, errmsg)
    call check(stat == levin_failed, "a file that cannot be written: "//trim(errmsg))
  contains
    subroutine assumed_size(array)
      real(real32), intent(in) :: array(features, *)
      call model%run(array(:, 1:samples))
      call model%run(array, stat=stat, errmsg=errmsg)
      call refused(stat, errmsg, "is an assumed-size array")
    end subroutine
  end subroutine

  ! Epochs, logs, rates, requests, readers and a fit over a source.
  subroutine a_session_follows_requests()
    type(levin_session) :: session
    type(levin_reader) :: reader
    type(levin_result) :: result
    type(levin_state) :: state
    real(real64) :: value, input(features, samples), unused(outputs, samples)
    real(real32) :: before(outputs, samples), after(outputs, samples)
    integer(int64) :: step
    character(:), allocatable :: text
    logical :: trained
    call session%start(no_dropout, options=["trainer.log_every_n_steps=1"], batches_per_epoch=4, host_saves=.true.)
    call check(abs(session%rate() - 1e-3) < 1e-9, "Adam's rate")
    call session%set_rate(0.25_real64)
    call check(session%rate(1, 1) .same. 0.25_real64, "a rate is set")
    call train(session, 0, 4, "real64")
    call session%log("residual", 0.5_real64)
    call session%end_epoch()
    call train(session, 4, 6, "real64")
    call check(session%metric("residual") .same. 0.5_real64, "a metric of the program's")
    text = session%metrics()
    call check(index(text, "train_loss") > 0, "the names of metrics")
    text = session%warnings()
    call check(.not. session%due_to_save(), "no checkpoint is due")
    call session%get_state(state)
    call check(state%epoch == 1 .and. state%batches == 6, "an epoch has ended")
    call fill(1, input, unused)
    call session%publish()
    call reader%create(session)
    call reader%update(step)
    call check(step == 6, "a reader has the newest weights")
    call reader%run(input, function="forward")
    call reader%result(before)
    call train(session, 6, 8, "real64")
    call reader%update(step)
    call reader%run(input, function="forward")
    call reader%result(after)
    call check(step == 6 .and. all(before .same. after), "which stay until the next ones are published")
    call session%pause()
    call session%get_state(state)
    call check(state%is_paused, "a session is paused")
    call session%resume()
    call session%request_stop("enough")
    call check(.not. session%next(), "a request to stop is followed")
    call session%step(input, unused, trained=trained)
    call check(.not. trained, "a batch after the end is not trained")
    call session%finish(result)
    call check(result%stopped .and. result%steps == 8 .and. result%epochs >= 1, "the session was stopped")
    call session%destroy()
    call reader%run(input)
    call check(reader%result_count() == 1, "a reader outlives its session")

    train_calls = 0
    call session%start(no_dropout, options=["trainer.max_epochs=3"], join_launcher=.true.)
    call session%fit(train_source, validation_source)
    value = session%metric("val_loss")
    call check(value > 0, "fit validates")
    call session%finish(result)
    call check(result%epochs == 3 .and. result%batches == 15, "fit trains three epochs")
    call check(train_calls == 15, "from the source's batches")
    call session%start(no_dropout)
    call train(session, 0, 1, "real64")
    call session%validate(validation_source)
    call check(session%metric("val_loss") > 0, "validate logs the loss")
  end subroutine

  subroutine train_source(epoch, number, batch, stat)
    integer(int64), intent(in) :: epoch, number
    type(levin_batch), intent(inout) :: batch
    integer, intent(inout) :: stat
    stat = levin_ok
    if (number == 5) return
    train_calls = train_calls + 1
    call fill(int(5 * epoch + number), source_input, source_target)
    call batch%add("input", source_input)
    call batch%add("target", source_target)
  end subroutine

  subroutine validation_source(epoch, number, batch, stat)
    integer(int64), intent(in) :: epoch, number
    type(levin_batch), intent(inout) :: batch
    integer, intent(inout) :: stat
    stat = merge(1, levin_ok, epoch < 0)
    if (number == 2) return
    call fill(int(number), source_input, source_target)
    call batch%add("input", source_input)
    call batch%add("target", source_target)
  end subroutine

  ! An assignment shares the object, which lives as long as one of its variables.
  subroutine handles_are_shared()
    type :: solver
      type(levin_model) :: closure
      integer :: number = 0
    end type
    type(levin_model) :: first
    type(levin_model), allocatable :: second, several(:)
    type(solver) :: one, two
    type(solver), allocatable :: three
    real(real32) :: input(features, samples)
    integer :: i
    input = 1
    call first%create(no_dropout)
    allocate (second)
    second = first
    call first%destroy()
    call check(.not. first%is_set() .and. second%is_set(), "one of two variables is left")
    call second%run(input)
    first = second
    first = first
    deallocate (second)
    call first%run(input)
    allocate (several(3))
    do i = 1, 3
      several(i) = first
    end do
    call first%destroy()
    call several(2)%run(input)
    one%closure = several(3)
    deallocate (several)
    call one%closure%run(input)
    two = one
    call one%closure%destroy()
    call two%closure%run(input)
    allocate (three)
    three = two
    call two%closure%destroy()
    call three%closure%run(input)
    call passed(three%closure)
    call three%closure%run(input)
    first = three%closure
    deallocate (three)
    call first%run(input)
    call check(first%result_count() == 1, "the model is there to the end")
    allocate (second, source=first)  ! two variables that count as one: nothing is destroyed twice
    deallocate (second)
  contains
    subroutine passed(model)
      type(levin_model), intent(in) :: model
      type(levin_model) :: mine
      mine = model
      call mine%run(input)
    end subroutine
  end subroutine

end module

program fortran_test
  use buffer_cases
  use fortran_cases
  implicit none
  type(levin_session) :: left  ! a program may end without destroying it
  character(20) :: argument
  call get_command_argument(1, argument)
  if (argument == "error_stop") then  ! an error without stat= stops the program
    call left%start(trainer//'"model": {"class": "Absent"}}')
    stop "an error did not stop the program"
  end if
  call levin_seed(3)
  call the_library_tells_its_version()
  call arrays_are_described()
  call training_has_the_bits_of_c()
  call classes_take_integers_and_logicals()
  call a_loss_of_the_program()
  call a_model_is_a_function()
  call mistakes_are_told()
  call a_session_follows_requests()
  call handles_are_shared()
  call models_describe_themselves()
  call buffers_are_drawn_from_and_resumed()
  call metrics_are_told()
  call arrays_travel()
  call left%start(regression)
  call train(left, 0, 2, "real64")
  if (failures > 0) error stop "fortran_test: checks failed"
  print "(a)", "all checks passed"
end program
