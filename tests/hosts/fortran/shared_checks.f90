! What the cases of the module `levin` share.
module shared_checks
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64, error_unit
  use levin
  implicit none

  integer, parameter :: features = 3, outputs = 2, samples = 8
  character(*), parameter :: trainer = '{"seed": 3, "trainer": {"accelerator": "cpu", "max_epochs": -1}, '
  character(*), parameter :: regression = trainer//'"model": {"class": "MLPRegressor", "features": 3, '// &
    '"hidden": [16], "outputs": 2, "dropout": 0.1}}'
  character(*), parameter :: no_dropout = trainer//'"model": {"class": "MLPRegressor", "features": 3, '// &
    '"hidden": [16], "outputs": 2}}'
  character(*), parameter :: classes = trainer//'"model": {"class": "MLPClassifier", "features": 3, '// &
    '"category_sizes": [4, 4], "embedding": 2, "hidden": [8], "num_classes": 3}}'
  integer :: failures = 0

  type, bind(C) :: opaque  ! room for the struct `described` of descriptor.c
    integer(c_int64_t) :: words(128) = 0
  end type

  ! All bits of two numbers are the same.
  interface operator(.same.)
    procedure :: same_real64, same_real32
  end interface

  interface
    subroutine row_major_regression(config, steps, flat, length) bind(C)
      import :: c_char, c_int32_t, c_double, c_int64_t
      character(kind=c_char), intent(in) :: config(*)
      integer(c_int32_t), value :: steps
      real(c_double), intent(out) :: flat(*)
      integer(c_int64_t), value :: length
    end subroutine
    subroutine row_major_classes(config, steps, flat, length) bind(C)
      import :: c_char, c_int32_t, c_double, c_int64_t
      character(kind=c_char), intent(in) :: config(*)
      integer(c_int32_t), value :: steps
      real(c_double), intent(out) :: flat(*)
      integer(c_int64_t), value :: length
    end subroutine
    subroutine delete_dlpack(tensor) bind(C)
      import :: c_ptr
      type(c_ptr), value :: tensor
    end subroutine
    ! What the module itself calls for each array.
    function describe(array, is_result, true_is_one, to) result(reason) bind(C, name="levin_fortran_describe")
      import :: c_int32_t, opaque
      type(*), dimension(..), intent(in), target :: array
      integer(c_int32_t), value :: is_result, true_is_one
      type(opaque), intent(out) :: to
      integer(c_int32_t) :: reason
    end function
    function copy_described(from, to) result(status) bind(C, name="levin_fortran_copy")
      import :: c_int32_t, opaque
      type(opaque), intent(in) :: from, to
      integer(c_int32_t) :: status
    end function
  end interface

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    failures = failures + 1
    write (error_unit, "(2a)") "FAILED: ", what
  end subroutine

  ! Checks that a call was refused with a text that says so.
  subroutine refused(stat, errmsg, text)
    integer, intent(in) :: stat
    character(*), intent(in) :: errmsg, text
    call check(stat == levin_invalid .and. index(errmsg, text) > 0, "expected '"//text//"', got '"//trim(errmsg)//"'")
  end subroutine

  ! The batches of row_major.c.
  pure subroutine fill(step, input, target)
    integer, intent(in) :: step
    real(real64), intent(out) :: input(features, samples), target(outputs, samples)
    integer :: i, j
    do i = 1, samples
      do j = 1, features
        input(j, i) = (mod(step * 7 + (i - 1) * 3 + (j - 1) * 5, 11) - 5) / 8.0_real64
      end do
      do j = 1, outputs
        target(j, i) = (mod(step * 5 + (i - 1) * 2 + (j - 1) * 3, 7) - 3) / 4.0_real64
      end do
    end do
  end subroutine

  subroutine weights_of(session, flat)
    type(levin_session), intent(in) :: session
    real(real64), allocatable, intent(out) :: flat(:)
    type(levin_model) :: model
    call session%get_model(model)
    allocate (flat(model%weights_size()))
    call model%get_weights(flat)
  end subroutine

  ! Compares all bits of weights.
  logical function are_same(one, two)
    real(real64), intent(in) :: one(:), two(:)
    are_same = size(one) == size(two)
    if (are_same) are_same = all(one .same. two)
  end function

  elemental logical function same_real64(one, two)
    real(real64), intent(in) :: one, two
    same_real64 = transfer(one, 0_int64) == transfer(two, 0_int64)
  end function

  elemental logical function same_real32(one, two)
    real(real32), intent(in) :: one, two
    same_real32 = transfer(one, 0_int32) == transfer(two, 0_int32)
  end function

  ! Trains steps begin to end - 1, with arrays of the named kind and layout.
  subroutine train(session, begin, end, layout)
    type(levin_session), intent(in) :: session
    integer, intent(in) :: begin, end
    character(*), intent(in) :: layout
    real(real64) :: input(features, samples), target(outputs, samples)
    real(real32) :: single(features, samples), single_target(outputs, samples)
    real(real64) :: wide(0:2 * features, 3 * samples), wide_target(outputs + 2, 2 * samples)
    real(real32) :: single_wide(2 * features, samples + 4)
    integer :: step
    logical :: trained, stepped
    wide = huge(wide)
    wide_target = huge(wide_target)
    single_wide = huge(single_wide)
    do step = begin, end - 1
      call check(session%next(), layout//": another batch is wanted")
      call fill(step, input, target)
      trained = .false.
      select case (layout)
      case ("real64")
        call session%step(input, target, trained=trained, stepped=stepped)
      case ("real32")
        single = real(input, real32)
        single_target = real(target, real32)
        call session%step(single, single_target, trained=trained, stepped=stepped)
      case ("sections of real64")
        wide(1:5:2, 2:3 * samples:3) = input
        wide_target(2:3, 1:2 * samples:2) = target
        call session%step(wide(1:5:2, 2:3 * samples:3), wide_target(2:3, 1:2 * samples:2), trained=trained, &
          stepped=stepped)
      case ("sections of real32")
        single_wide(1:2 * features:2, 3:samples + 2) = real(input, real32)
        call session%step(single_wide(1:2 * features:2, 3:samples + 2), target, trained=trained, stepped=stepped)
      case ("reversed sections")
        wide(5:1:-2, 3 * samples - 1:2:-3) = input
        wide_target(3:2:-1, 2 * samples - 1:1:-2) = target
        call session%step(wide(5:1:-2, 3 * samples - 1:2:-3), wide_target(3:2:-1, 2 * samples - 1:1:-2), &
          trained=trained, stepped=stepped)
      end select
      call check(trained .and. stepped, layout//": the batch was trained")
    end do
    call check(session%next(), layout//": training goes on")
  end subroutine

end module
