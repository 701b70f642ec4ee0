! Models: evaluated, differentiated, saved. A part of the module `levin`.
module levin_models
  use levin_arrays, only: c_copy, collect, conclude, describe, described, levin_array, levin_batch, levin_invalid, &
    levin_ok, set_name, set_view, to_c
  use levin_handles, only: handle_of, levin_object, share_handle, take_handle
  use levin_kept
  use levin_texts, only: conclude_with
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_int32_t, c_int64_t, c_null_char, c_null_ptr, c_ptr, c_size_t
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  private
  public :: forward, input_gradients_flag, levin_mean, list_to_c

  integer(c_int32_t), parameter :: input_gradients_flag = 1, weight_gradients_flag = 2  ! as in levin/c_api.h

  ! What evaluates: a model, or a reader.
  type, extends(levin_object), public :: levin_evaluated
  contains
    procedure :: run
    procedure :: result => result_copy
    procedure :: result_array
    procedure :: result_count
  end type

  ! A model: evaluated, differentiated, saved.
  type, extends(levin_evaluated), public :: levin_model
  contains
    procedure :: create => model_create
    procedure :: save => model_save
    procedure :: input_array => model_input_array
    procedure :: input_count => model_input_count
    procedure :: output_array => model_output_array
    procedure :: output_count => model_output_count
    procedure :: forward => model_forward
    procedure :: weights_size => model_weights_size
    procedure :: get_weights => model_get_weights
    procedure :: set_weights => model_set_weights
    procedure :: weight => model_weight
    procedure :: weight_array => model_weight_array
    procedure :: weight_count => model_weight_count
    procedure, private :: model_assign
    generic :: assignment(=) => model_assign
  end type

  ! A model evaluated with what its backward needs: the model as a differentiable function.
  type, extends(levin_object), public :: levin_call
  contains
    procedure :: output => call_output
    procedure :: output_array => call_output_array
    procedure :: output_count => call_output_count
    procedure :: backward => call_backward
    procedure :: input_gradient => call_input_gradient
    procedure :: input_gradient_array => call_input_gradient_array
    procedure :: input_gradient_count => call_input_gradient_count
    procedure :: weight_gradient => call_weight_gradient
    procedure :: weight_gradient_array => call_weight_gradient_array
    procedure :: weight_gradient_count => call_weight_gradient_count
    procedure, private :: call_assign
    generic :: assignment(=) => call_assign
  end type

  interface
    function c_create(file, text, options, option_count, plugins, plugin_count, weights, model) result(status) &
        bind(C, name="levin_fortran_create")
      import :: c_int32_t, c_ptr, c_size_t, c_char
      character(kind=c_char), intent(in), optional :: file(*), text(*)
      character(kind=c_char), intent(in) :: options(*), plugins(*)
      integer(c_size_t), value :: option_count, plugin_count
      character(kind=c_char), intent(in), optional :: weights(*)
      type(c_ptr), intent(out) :: model
      integer(c_int32_t) :: status
    end function
    function c_model_save(model, path) result(status) bind(C, name="levin_model_save")
      import :: c_int32_t, c_ptr, c_char
      type(c_ptr), value :: model
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int32_t) :: status
    end function
    function c_run(handle, function, inputs, count) result(status) bind(C, name="levin_fortran_run")
      import :: c_int32_t, c_ptr, c_size_t, c_char, described
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in), optional :: function(*)
      type(described), intent(in) :: inputs(*)
      integer(c_size_t), value :: count
      integer(c_int32_t) :: status
    end function
    function c_forward(handle, function, inputs, count, wanted, call) result(status) &
        bind(C, name="levin_fortran_forward")
      import :: c_int32_t, c_ptr, c_size_t, c_char, described
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in), optional :: function(*)
      type(described), intent(in) :: inputs(*)
      integer(c_size_t), value :: count
      integer(c_int32_t), value :: wanted
      type(c_ptr), intent(out) :: call
      integer(c_int32_t) :: status
    end function
    function c_backward(call, gradients, count) result(status) bind(C, name="levin_fortran_backward")
      import :: c_int32_t, c_ptr, c_size_t, described
      type(c_ptr), value :: call
      type(described), intent(in) :: gradients(*)
      integer(c_size_t), value :: count
      integer(c_int32_t) :: status
    end function
    function c_weights_size(model, elements) result(status) bind(C, name="levin_model_weights_size")
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: model
      integer(c_int64_t), intent(inout) :: elements
      integer(c_int32_t) :: status
    end function
    function c_weights(model, flat, is_set) result(status) bind(C, name="levin_fortran_weights")
      import :: c_int32_t, c_ptr, described
      type(c_ptr), value :: model
      type(described), intent(in) :: flat
      integer(c_int32_t), value :: is_set
      integer(c_int32_t) :: status
    end function
    function c_mean(arrays, count, weights, mean) result(status) bind(C, name="levin_fortran_mean")
      import :: c_double, c_int32_t, c_size_t, described
      type(described), intent(in) :: arrays(*)
      integer(c_size_t), value :: count
      real(c_double), intent(in), optional :: weights(*)
      type(described), intent(in) :: mean
      integer(c_int32_t) :: status
    end function
  end interface

contains

  ! Makes a text of C's of each element, behind each other.
  subroutine list_to_c(texts, copy, count)
    character(*), intent(in), optional :: texts(:)
    character(:), allocatable, intent(out) :: copy
    integer(c_size_t), intent(out) :: count
    integer :: i
    copy = ""
    count = 0
    if (present(texts)) then
      do i = 1, size(texts)
        copy = copy//trim(texts(i))//c_null_char
      end do
      count = size(texts, kind=c_size_t)
    end if
    copy = copy//c_null_char
  end subroutine

  ! Makes the config's model on the CPU: a JSON file, JSON text, and options as "model.optimizer.lr=0.01", each over the
  ! ones before. `weights`: a checkpoint of levin or PyTorch Lightning, .pt or .safetensors.
  subroutine model_create(this, text, file, options, plugins, weights, stat, errmsg)
    class(levin_model), intent(inout) :: this
    character(*), intent(in), optional :: text, file
    character(*), intent(in), optional :: options(:), plugins(:)
    character(*), intent(in), optional :: weights
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: c_file, c_text, c_options, c_plugins, c_weights_path
    integer(c_size_t) :: option_count, plugin_count
    integer(c_int32_t) :: status
    type(c_ptr) :: made
    call to_c(file, c_file)
    call to_c(text, c_text)
    call to_c(weights, c_weights_path)
    call list_to_c(options, c_options, option_count)
    call list_to_c(plugins, c_plugins, plugin_count)
    status = c_create(c_file, c_text, c_options, option_count, c_plugins, plugin_count, c_weights_path, made)
    if (status == levin_ok) call take_handle(this, made)
    call conclude(status, stat, errmsg)
  end subroutine

  ! Writes the weights: .pt, .pth, .bin for PyTorch, or .safetensors.
  subroutine model_save(this, path, stat, errmsg)
    class(levin_model), intent(in) :: this
    character(*), intent(in) :: path
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_model_save(handle_of(this), trim(path)//c_null_char), stat, errmsg)
  end subroutine

  ! Evaluates the model without gradients. `function`: a name that the model exports, such as "forward"; without it,
  ! predict_step.
  subroutine run(this, input, batch, function, stat, errmsg)
    class(levin_evaluated), intent(in) :: this
    type(*), dimension(..), intent(in), optional, target :: input
    type(levin_batch), intent(in), optional :: batch
    character(*), intent(in), optional :: function
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(described), allocatable :: arrays(:)
    character(:), allocatable :: subject, c_function
    integer(c_int32_t) :: status
    call collect(arrays, status, subject, input=input, batch=batch)
    call to_c(function, c_function)
    if (status == levin_ok) status = c_run(handle_of(this), c_function, arrays, size(arrays, kind=c_size_t))
    call conclude(status, stat, errmsg, subject)
  end subroutine

  ! Copies a result of the newest run to an array of its shape.
  subroutine result_copy(this, to, place, name, stat, errmsg)
    class(levin_evaluated), intent(in) :: this
    type(*), dimension(..), intent(inout), target :: to
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call copy_from(of_result, this, to, place, name, stat, errmsg)
  end subroutine

  ! Gives a result of the newest run where it lies.
  subroutine result_array(this, array, place, name, stat, errmsg)
    class(levin_evaluated), intent(in) :: this
    type(levin_array), intent(inout) :: array
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call array_from(of_result, this, array, place, name, stat, errmsg)
  end subroutine

  integer function result_count(this, stat, errmsg)
    class(levin_evaluated), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    result_count = count_of(of_result, this, stat, errmsg)
  end function

  ! Describes an input or an output (of run without `function`) before any run: its name, dtype and shape. A size of -1 may
  ! differ; a TorchScript does not tell dtype (-1) and shape (not allocated). A model with an example gives that.
  subroutine model_input_array(this, array, place, name, stat, errmsg)
    class(levin_model), intent(in) :: this
    type(levin_array), intent(inout) :: array
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call array_from(of_model_input, this, array, place, name, stat, errmsg)
  end subroutine

  integer function model_input_count(this, stat, errmsg)
    class(levin_model), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    model_input_count = count_of(of_model_input, this, stat, errmsg)
  end function

  subroutine model_output_array(this, array, place, name, stat, errmsg)
    class(levin_model), intent(in) :: this
    type(levin_array), intent(inout) :: array
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call array_from(of_model_output, this, array, place, name, stat, errmsg)
  end subroutine

  integer function model_output_count(this, stat, errmsg)
    class(levin_model), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    model_output_count = count_of(of_model_output, this, stat, errmsg)
  end function

  ! Evaluates the model with what backward needs. `input_gradients`: backward computes those of the inputs;
  ! `weight_gradients`: and those of the weights.
  subroutine model_forward(this, call, input, batch, function, input_gradients, weight_gradients, stat, errmsg)
    class(levin_model), intent(in) :: this
    type(levin_call), intent(inout) :: call
    type(*), dimension(..), intent(in), optional, target :: input
    type(levin_batch), intent(in), optional :: batch
    character(*), intent(in), optional :: function
    logical, intent(in), optional :: input_gradients, weight_gradients
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: wanted
    wanted = 0
    if (present(input_gradients)) wanted = merge(input_gradients_flag, 0_c_int32_t, input_gradients)
    if (present(weight_gradients)) wanted = wanted + merge(weight_gradients_flag, 0_c_int32_t, weight_gradients)
    call forward(this, call, wanted, input, batch, function, stat, errmsg)
  end subroutine

  subroutine forward(object, call, wanted, input, batch, function, stat, errmsg)
    class(levin_object), intent(in) :: object
    type(levin_call), intent(inout) :: call
    integer(c_int32_t), intent(in) :: wanted
    type(*), dimension(..), intent(in), optional, target :: input
    type(levin_batch), intent(in), optional :: batch
    character(*), intent(in), optional :: function
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(described), allocatable :: arrays(:)
    character(:), allocatable :: subject, c_function
    integer(c_int32_t) :: status
    type(c_ptr) :: made
    made = c_null_ptr
    call collect(arrays, status, subject, input=input, batch=batch)
    call to_c(function, c_function)
    if (status == levin_ok) &
      status = c_forward(handle_of(object), c_function, arrays, size(arrays, kind=c_size_t), wanted, made)
    if (status == levin_ok) call take_handle(call, made)
    call conclude(status, stat, errmsg, subject)
  end subroutine

  ! Returns the number of elements of all floating-point weights together.
  integer(int64) function model_weights_size(this, stat, errmsg)
    class(levin_model), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: elements
    elements = 0
    call conclude(c_weights_size(handle_of(this), elements), stat, errmsg)
    model_weights_size = elements
  end function

  ! Copies all floating-point weights, one after another in levin's order, to a real array of rank 1.
  subroutine model_get_weights(this, flat, stat, errmsg)
    class(levin_model), intent(in) :: this
    type(*), dimension(..), intent(inout), target :: flat
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(described) :: array
    integer(c_int32_t) :: status
    status = describe(flat, .true., array)
    if (status == levin_ok) status = c_weights(handle_of(this), array, 0_c_int32_t)
    call conclude(status, stat, errmsg, "flat=")
  end subroutine

  ! Sets all of them.
  subroutine model_set_weights(this, flat, stat, errmsg)
    class(levin_model), intent(in) :: this
    type(*), dimension(..), intent(in), target :: flat
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(described) :: array
    integer(c_int32_t) :: status
    status = describe(flat, .false., array)
    if (status == levin_ok) status = c_weights(handle_of(this), array, 1_c_int32_t)
    call conclude(status, stat, errmsg, "flat=")
  end subroutine

  ! Copies one weight: a parameter or buffer, by its place or by its name in the state dict.
  subroutine model_weight(this, to, place, name, stat, errmsg)
    class(levin_model), intent(in) :: this
    type(*), dimension(..), intent(inout), target :: to
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call copy_from(of_weight, this, to, place, name, stat, errmsg)
  end subroutine

  ! Gives one weight where it lies.
  subroutine model_weight_array(this, array, place, name, stat, errmsg)
    class(levin_model), intent(in) :: this
    type(levin_array), intent(inout) :: array
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call array_from(of_weight, this, array, place, name, stat, errmsg)
  end subroutine

  integer function model_weight_count(this, stat, errmsg)
    class(levin_model), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    model_weight_count = count_of(of_weight, this, stat, errmsg)
  end function

  ! Writes the mean of a batch's arrays, all of one shape, to `mean`: the weights of federated clients, say. `weights`: one
  ! for each; without them, all count alike.
  subroutine levin_mean(batch, mean, weights, stat, errmsg)
    type(levin_batch), intent(in) :: batch
    type(*), dimension(..), intent(inout), target :: mean
    real(real64), intent(in), optional :: weights(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(described) :: target
    type(described), allocatable :: arrays(:)
    real(c_double), allocatable :: c_weights(:)
    character(:), allocatable :: subject
    integer(c_int32_t) :: status
    call collect(arrays, status, subject, batch=batch)
    if (present(weights)) then
      c_weights = weights
      if (size(weights) /= size(arrays)) then
        call conclude_with(levin_invalid, "weights= has not as many numbers as the batch has arrays", stat, errmsg)
        return
      end if
    end if
    status = describe(mean, .true., target)
    if (status == levin_ok) status = c_mean(arrays, size(arrays, kind=c_size_t), c_weights, target)
    call conclude(status, stat, errmsg, "mean=")
  end subroutine

  subroutine call_output(this, to, place, name, stat, errmsg)
    class(levin_call), intent(in) :: this
    type(*), dimension(..), intent(inout), target :: to
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call copy_from(of_output, this, to, place, name, stat, errmsg)
  end subroutine

  subroutine call_output_array(this, array, place, name, stat, errmsg)
    class(levin_call), intent(in) :: this
    type(levin_array), intent(inout) :: array
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call array_from(of_output, this, array, place, name, stat, errmsg)
  end subroutine

  integer function call_output_count(this, stat, errmsg)
    class(levin_call), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call_output_count = count_of(of_output, this, stat, errmsg)
  end function

  ! Takes the gradient of the program's loss with respect to the output, and computes what forward was asked for: the
  ! vector-Jacobian product. `batch`: gradients with the names of several outputs; the loss does not depend on the
  ! outputs that it lacks. Once for each call.
  subroutine call_backward(this, gradient, batch, stat, errmsg)
    class(levin_call), intent(in) :: this
    type(*), dimension(..), intent(in), optional, target :: gradient
    type(levin_batch), intent(in), optional :: batch
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(described), allocatable :: arrays(:)
    character(:), allocatable :: subject
    integer(c_int32_t) :: status
    if (present(gradient) .eqv. present(batch)) then
      call conclude_with(levin_invalid, "backward takes either gradient= or batch=", stat, errmsg)
      return
    end if
    call collect(arrays, status, subject, input=gradient, batch=batch)
    subject = "gradient="
    if (present(batch)) then
      subject = "a name in batch="
    else if (status == levin_ok) then
      call set_name(arrays(1), "")
    end if
    if (status == levin_ok) status = c_backward(handle_of(this), arrays, size(arrays, kind=c_size_t))
    call conclude(status, stat, errmsg, subject)
  end subroutine

  ! Copies the gradient of an input, after backward.
  subroutine call_input_gradient(this, to, place, name, stat, errmsg)
    class(levin_call), intent(in) :: this
    type(*), dimension(..), intent(inout), target :: to
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call copy_from(of_input_gradient, this, to, place, name, stat, errmsg)
  end subroutine

  subroutine call_input_gradient_array(this, array, place, name, stat, errmsg)
    class(levin_call), intent(in) :: this
    type(levin_array), intent(inout) :: array
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call array_from(of_input_gradient, this, array, place, name, stat, errmsg)
  end subroutine

  integer function call_input_gradient_count(this, stat, errmsg)
    class(levin_call), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call_input_gradient_count = count_of(of_input_gradient, this, stat, errmsg)
  end function

  ! Copies the gradient of a weight, after the backward of model%forward.
  subroutine call_weight_gradient(this, to, place, name, stat, errmsg)
    class(levin_call), intent(in) :: this
    type(*), dimension(..), intent(inout), target :: to
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call copy_from(of_weight_gradient, this, to, place, name, stat, errmsg)
  end subroutine

  subroutine call_weight_gradient_array(this, array, place, name, stat, errmsg)
    class(levin_call), intent(in) :: this
    type(levin_array), intent(inout) :: array
    integer, intent(in), optional :: place
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call array_from(of_weight_gradient, this, array, place, name, stat, errmsg)
  end subroutine

  integer function call_weight_gradient_count(this, stat, errmsg)
    class(levin_call), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call_weight_gradient_count = count_of(of_weight_gradient, this, stat, errmsg)
  end function

  impure elemental subroutine model_assign(this, other)
    class(levin_model), intent(inout) :: this
    type(levin_model), intent(in) :: other
    call share_handle(this, handle_of(other))
  end subroutine

  impure elemental subroutine call_assign(this, other)
    class(levin_call), intent(inout) :: this
    type(levin_call), intent(in) :: other
    call share_handle(this, handle_of(other))
  end subroutine

end module
