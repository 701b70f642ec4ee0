! Texts of C's and the end of a procedure, for the modules levin and levin_mpi.
module levin_texts
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, c_ptr, c_size_t
  implicit none
  private
  public :: conclude_with, text_of

  interface
    pure function c_strlen(text) result(length) bind(C, name="strlen")
      import :: c_ptr, c_size_t
      type(c_ptr), value, intent(in) :: text
      integer(c_size_t) :: length
    end function
  end interface
contains
  ! Copies a text of C's.
  function text_of(text) result(copy)
    type(c_ptr), intent(in) :: text
    character(:), allocatable :: copy
    character(kind=c_char), pointer :: characters(:)
    integer(c_size_t) :: i, length
    if (.not. c_associated(text)) then
      copy = ""
      return
    end if
    length = c_strlen(text)
    call c_f_pointer(text, characters, [length])
    allocate (character(length) :: copy)
    do i = 1, length
      copy(i:i) = characters(i)
    end do
  end function

  ! Sets stat= and errmsg=; without stat= the error stops the program.
  subroutine conclude_with(status, text, stat, errmsg)
    integer, intent(in) :: status
    character(*), intent(in) :: text
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    if (.not. present(stat)) error stop "levin: "//text
    stat = status
    if (present(errmsg)) errmsg = text
  end subroutine
end module
