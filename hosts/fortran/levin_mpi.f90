! The ranks of an MPI communicator, for session%start(..., ranks=ranks). It uses neither of MPI's Fortran modules: a
! communicator of `mpi_f08` is given as comm%mpi_val.
module levin_mpi
  use levin, only: levin_ranks
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_int32_t, c_ptr, c_f_pointer, c_sizeof, c_size_t
  implicit none
  private
  public :: levin_mpi_ranks

  interface
    function c_ranks(communicator, ranks) result(status) bind(C, name="levin_mpi_ranks_f")
      import :: c_int, c_int32_t, levin_ranks
      integer(c_int), value :: communicator
      type(levin_ranks), intent(inout) :: ranks
      integer(c_int32_t) :: status
    end function
    function c_error() result(text) bind(C, name="levin_mpi_error")
      import :: c_ptr
      type(c_ptr) :: text
    end function
    function c_strlen(text) result(length) bind(C, name="strlen")
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function
  end interface
contains
  ! Makes ranks of a duplicate of the communicator. All of its ranks call it together, after MPI_Init_thread with
  ! MPI_THREAD_FUNNELED or more. Without stat=, an error ends the program with its text.
  subroutine levin_mpi_ranks(communicator, ranks, stat, errmsg)
    integer, intent(in) :: communicator
    type(levin_ranks), intent(out) :: ranks
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char), pointer :: letters(:)
    character(:), allocatable :: text
    type(c_ptr) :: error
    integer(c_int32_t) :: status
    integer :: i
    ranks%struct_size = c_sizeof(ranks)
    status = c_ranks(int(communicator, c_int), ranks)
    if (present(stat)) stat = status
    if (status == 0) return
    error = c_error()
    call c_f_pointer(error, letters, [c_strlen(error)])
    allocate (character(size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
    if (present(errmsg)) errmsg = text
    if (.not. present(stat)) error stop text
  end subroutine
end module
