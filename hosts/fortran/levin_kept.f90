! The arrays that an object of levin's keeps for the program, by place or by name. Internal to the module `levin`.
module levin_kept
  use levin_arrays, only: c_copy, conclude, describe, described, levin_array, levin_ok, set_view
  use levin_handles, only: handle_of, levin_object
  use, intrinsic :: iso_c_binding, only: c_char, c_int32_t, c_null_char, c_ptr, c_size_t
  implicit none
  private
  public :: array_from, copy_from, count_of

  ! As in descriptor.c.
  integer(c_int32_t), parameter, public :: of_result = 1, of_weight = 2, of_output = 3, of_input_gradient = 4, &
    of_weight_gradient = 5, of_model_input = 6, of_model_output = 7, of_drawn = 8

  interface
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
  end interface

contains

  subroutine copy_from(what, object, to, place, name, stat, errmsg)
    integer(c_int32_t), intent(in) :: what
    class(levin_object), intent(in) :: object
    type(*), dimension(..), intent(inout), target :: to
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(described) :: view, target
    integer(c_int32_t) :: status
    call get_view(what, object, view, status, place, name)
    if (status < 0) then
      call conclude(status, stat, errmsg, "name=")
      return
    end if
    if (status == levin_ok) status = describe(to, .true., target)
    if (status == levin_ok) status = c_copy(view, target)
    call conclude(status, stat, errmsg, "the array that is copied to")
  end subroutine

  subroutine array_from(what, object, array, place, name, stat, errmsg)
    integer(c_int32_t), intent(in) :: what
    class(levin_object), intent(in) :: object
    type(levin_array), intent(inout) :: array
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(described) :: view
    integer(c_int32_t) :: status
    call get_view(what, object, view, status, place, name)
    if (status /= levin_ok) view = described(dtype=-1, rank=-1)
    call set_view(array, view)
    call conclude(status, stat, errmsg, "name=")
  end subroutine

  integer function count_of(what, object, stat, errmsg)
    integer(c_int32_t), intent(in) :: what
    class(levin_object), intent(in) :: object
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_size_t) :: count
    call conclude(c_count(what, handle_of(object), count), stat, errmsg)
    count_of = int(count)
  end function

  ! Gets the array at a place, or the one of a name.
  subroutine get_view(what, object, view, status, place, name)
    integer(c_int32_t), intent(in) :: what
    class(levin_object), intent(in) :: object
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
    status = c_get(what, handle_of(object), text, from_zero, view)
  end subroutine

end module
