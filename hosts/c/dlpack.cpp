#include <ATen/DLConvertor.h>
#include <levin/hosts/c/arrays.h>
#include <levin/hosts/c/status.h>

using namespace levin::c;

namespace {

levin_dtype dtype_of_dlpack(const DLDataType& dtype) {
  const auto is = [&](int code, int bits) { return dtype.code == code && dtype.bits == bits; };
  if (dtype.lanes == 1) {
    if (is(kDLFloat, 32)) return LEVIN_FLOAT32;
    if (is(kDLFloat, 64)) return LEVIN_FLOAT64;
    if (is(kDLFloat, 16)) return LEVIN_FLOAT16;
    if (is(kDLBfloat, 16)) return LEVIN_BFLOAT16;
    if (is(kDLInt, 8)) return LEVIN_INT8;
    if (is(kDLInt, 16)) return LEVIN_INT16;
    if (is(kDLInt, 32)) return LEVIN_INT32;
    if (is(kDLInt, 64)) return LEVIN_INT64;
    if (is(kDLUInt, 8)) return LEVIN_UINT8;
    if (is(kDLBool, 8)) return LEVIN_BOOL;
  }
  throw levin::UsageError("the tensor's dtype (DLPack's code ", int{dtype.code}, ", ", int{dtype.bits}, " bits, ",
                          dtype.lanes, " lanes) is none that a levin_array has");
}

int32_t device_of_dlpack(const DLDevice& device) {
  switch (device.device_type) {
    case kDLCPU:
    case kDLCUDAHost:
      return LEVIN_CPU;
    case kDLCUDA:
    case kDLCUDAManaged:
      return LEVIN_CUDA;
    default:
      throw levin::UsageError("the tensor is on a device of DLPack's kind ", int{device.device_type},
                              "; a levin_array is on the CPU or a CUDA device");
  }
}

}  // namespace

levin_status levin_array_of_dlpack(DLManagedTensor* tensor, levin_array* array) {
  return guarded("levin_array_of_dlpack", [&] {
    const DLTensor& held = given(tensor, "the tensor").dl_tensor;
    levin_array found = LEVIN_INIT(levin_array);
    found.dtype = dtype_of_dlpack(held.dtype);
    found.device_type = device_of_dlpack(held.device);
    found.device_index = found.device_type == LEVIN_CPU ? 0 : held.device.device_id;
    found.data = held.data == nullptr ? nullptr : static_cast<char*>(held.data) + held.byte_offset;
    found.rank = held.ndim;
    found.shape = held.shape;
    found.strides = held.strides;
    found.struct_size = sized(array, "the array").struct_size;
    *array = found;
  });
}

levin_status levin_array_to_dlpack(const levin_array* array, DLManagedTensor** tensor) {
  return guarded("levin_array_to_dlpack", [&] {
    DLManagedTensor*& made = given(tensor, "the tensor");
    made = nullptr;
    const levin_array& held = sized(array, "the array");
    made = at::toDLPack(held.owner != nullptr ? static_cast<const at::Tensor*>(held.owner)->detach() : tensor_of(held));
  });
}
