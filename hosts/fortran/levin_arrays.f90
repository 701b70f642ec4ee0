! The program's arrays as levin sees them, levin's arrays, and how procedures end. Internal to the module `levin`, but for
! levin_batch, levin_array and the constants.
module levin_arrays
  use levin_texts, only: conclude_with, text_of
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_float, c_int32_t, c_int64_t, c_null_char, c_null_ptr, c_ptr
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  implicit none
  private
  public :: c_copy, collect, conclude, describe, set_name, set_view, to_c

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
  integer(c_int32_t), parameter :: no_memory_left = -13, only_described = 2

  ! An array of the program's or of levin's. The order of the dimensions is levin's.
  type, bind(C), public :: described
    type(c_ptr) :: data = c_null_ptr
    integer(c_int32_t) :: dtype = 0, rank = 0, device_type = 0, device_index = 0
    integer(c_int32_t) :: is_absent = 0, element_size = 0
    integer(c_int64_t) :: shape(most_dimensions) = 0, strides(most_dimensions) = 0
    character(kind=c_char) :: name(name_size) = c_null_char
    type(c_ptr) :: owner = c_null_ptr ! of levin's arrays
  end type

  ! Named arrays, for models that read more than "input" and "target". A batch refers to the arrays: these are variables
  ! with the attribute TARGET, and stay as they are until the batch was used.
  type, public :: levin_batch
    private
    type(described), allocatable :: arrays(:)
    integer :: used = 0
  contains
    procedure :: add => batch_add
    procedure :: add_dlpack => batch_add_dlpack
    procedure :: clear => batch_clear
    procedure :: count => batch_count
  end type

  ! An array in levin's memory. It is borrowed: until the next call with the object that gave it.
  type, public :: levin_array
    character(:), allocatable :: name       ! "": none
    integer(int64), allocatable :: shape(:) ! in Fortran's order; -1: a size that may differ
    integer :: dtype = -1
    type(described), private :: view = described(dtype=-1)
  contains
    procedure :: copy => array_copy
    procedure :: to_dlpack => array_to_dlpack
    procedure, private :: array_point_real32, array_point_real64, array_point_int32, array_point_int64
    generic :: point => array_point_real32, array_point_real64, array_point_int32, array_point_int64
  end type

  interface
    function c_describe(array, is_result, true_is_one, to) result(reason) bind(C, name="levin_fortran_describe")
      import :: c_int32_t, described
      type(*), dimension(..), intent(in), target :: array
      integer(c_int32_t), value :: is_result, true_is_one
      type(described), intent(out) :: to
      integer(c_int32_t) :: reason
    end function
    function c_copy(from, to) result(status) bind(C, name="levin_fortran_copy")
      import :: c_int32_t, described
      type(described), intent(in) :: from, to
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
    function c_of_dlpack(tensor, to) result(status) bind(C, name="levin_fortran_of_dlpack")
      import :: c_int32_t, c_ptr, described
      type(c_ptr), value :: tensor
      type(described), intent(out) :: to
      integer(c_int32_t) :: status
    end function
    function c_to_dlpack(from, tensor) result(status) bind(C, name="levin_fortran_to_dlpack")
      import :: c_int32_t, c_ptr, described
      type(described), intent(in) :: from
      type(c_ptr), intent(inout) :: tensor
      integer(c_int32_t) :: status
    end function
    function c_error() result(text) bind(C, name="levin_error")
      import :: c_ptr
      type(c_ptr) :: text
    end function
  end interface

contains

  ! Makes a text of C's, without the blanks at the end. What is absent stays unallocated: a null in C.
  subroutine to_c(text, copy)
    character(*), intent(in), optional :: text
    character(:), allocatable, intent(out) :: copy
    if (present(text)) copy = trim(text)//c_null_char
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
    type(described) :: added
    integer(c_int32_t) :: status
    status = describe(array, .false., added)
    call append(this, name, added, status, stat, errmsg)
  end subroutine

  ! Adds an array of DLPack's, a type(c_ptr) to a DLManagedTensor: of a GPU's memory, say. The program keeps the tensor
  ! until the batch was used, and calls its deleter afterwards. The order of its dimensions is levin's.
  subroutine batch_add_dlpack(this, name, tensor, stat, errmsg)
    class(levin_batch), intent(inout) :: this
    character(*), intent(in) :: name
    type(c_ptr), intent(in) :: tensor
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(described) :: added
    integer(c_int32_t) :: status
    status = c_of_dlpack(tensor, added)
    call append(this, name, added, status, stat, errmsg)
  end subroutine

  subroutine append(this, name, added, status, stat, errmsg)
    class(levin_batch), intent(inout) :: this
    character(*), intent(in) :: name
    type(described), intent(inout) :: added
    integer(c_int32_t), intent(in) :: status
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(described), allocatable :: more(:)
    if (len_trim(name) == 0 .or. len_trim(name) >= name_size) then
      call conclude_with(levin_invalid, "the name of a batch's array has 1 to 127 characters", stat, errmsg)
      return
    end if
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

  ! Makes a DLManagedTensor of the array, without a copy: a type(c_ptr), for libraries that take DLPack. It keeps levin's
  ! memory alive until its deleter is called. The order of its dimensions is levin's.
  function array_to_dlpack(this, stat, errmsg) result(tensor)
    class(levin_array), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: tensor
    tensor = c_null_ptr
    call conclude(c_to_dlpack(this%view, tensor), stat, errmsg, "the DLPack tensor")
  end function

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

  ! Lets an array show a described one. What is only described, without memory, has a shape and no elements.
  subroutine set_view(this, view)
    type(levin_array), intent(inout) :: this
    type(described), intent(in) :: view
    integer :: i
    this%view = view
    this%dtype = view%dtype
    this%name = ""
    if (allocated(this%shape)) deallocate (this%shape)
    if (view%rank >= 0) this%shape = [(view%shape(i), i=view%rank, 1, -1)]
    do i = 1, name_size
      if (view%name(i) == c_null_char) exit
      this%name = this%name//view%name(i)
    end do
    if (view%is_absent == only_described) this%view%dtype = -1
  end subroutine

end module
