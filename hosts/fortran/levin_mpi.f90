! The ranks of an MPI communicator, for session%start(..., ranks=ranks). It uses neither of MPI's Fortran modules: a
! communicator of `mpi_f08` is given as comm%mpi_val.
module levin_mpi
  use levin, only: levin_ok, levin_ranks
  use levin_texts, only: conclude_with, text_of
  use, intrinsic :: iso_c_binding, only: c_int, c_int32_t, c_ptr, c_sizeof
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
  end interface
contains
  ! Makes ranks of a duplicate of the communicator. All of its ranks call it together, after MPI_Init_thread with
  ! MPI_THREAD_FUNNELED or more. Without stat=, an error ends the program with its text.
  subroutine levin_mpi_ranks(communicator, ranks, stat, errmsg)
    integer, intent(in) :: communicator
    type(levin_ranks), intent(out) :: ranks
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    ranks%struct_size = c_sizeof(ranks)
    status = c_ranks(int(communicator, c_int), ranks)
    if (status /= levin_ok) then
      call conclude_with(int(status), text_of(c_error()), stat, errmsg)
    else if (present(stat)) then
      stat = levin_ok
    end if
  end subroutine
end module
