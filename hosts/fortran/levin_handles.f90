! What all handles share: an object of levin's that ends with the last variable that has it. Internal to the module
! `levin`.
module levin_handles
  use, intrinsic :: iso_c_binding, only: c_associated, c_null_ptr, c_ptr
  implicit none
  private
  public :: handle_of, share_handle, take_handle

  type, public :: levin_object
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: is_set
    procedure :: destroy
    final :: finish
  end type

  interface
    subroutine c_share(handle) bind(C, name="levin_fortran_share")
      import :: c_ptr
      type(c_ptr), value :: handle
    end subroutine
    subroutine c_release(handle) bind(C, name="levin_fortran_release")
      import :: c_ptr
      type(c_ptr), value :: handle
    end subroutine
  end interface

contains

  ! Says whether the variable has an object.
  elemental logical function is_set(this)
    class(levin_object), intent(in) :: this
    is_set = c_associated(this%handle)
  end function

  ! Lets go of the object, which ends with its last variable.
  impure elemental subroutine destroy(this)
    class(levin_object), intent(inout) :: this
    call take_handle(this, c_null_ptr)
  end subroutine

  impure elemental subroutine finish(this)
    type(levin_object), intent(inout) :: this
    call take_handle(this, c_null_ptr)
  end subroutine

  type(c_ptr) function handle_of(this)
    class(levin_object), intent(in) :: this
    handle_of = this%handle
  end function

  ! Gives a variable another object, or none, in place of the one that it has.
  subroutine take_handle(this, made)
    class(levin_object), intent(inout) :: this
    type(c_ptr), intent(in) :: made
    type(c_ptr) :: old
    old = this%handle
    this%handle = made
    call c_release(old)
  end subroutine

  ! Lets a variable share an object.
  subroutine share_handle(this, handle)
    class(levin_object), intent(inout) :: this
    type(c_ptr), intent(in) :: handle
    type(c_ptr) :: shared
    shared = handle
    call c_share(shared)
    call take_handle(this, shared)
  end subroutine

end module
