/* Fortran's array descriptors become arrays of levin, with the dimensions in reverse order, and levin's arrays pointers
 * of Fortran. */
#include "descriptor.h"

#include <stdlib.h>
#include <string.h>

/* Returns the dtype of a type of Fortran's; -1: none; -2: a logical of several bytes. */
static int32_t dtype_of(const CFI_cdesc_t* array) {
  const CFI_type_t type = array->type;
  const size_t size = array->elem_len;
  if (type == CFI_type_float && size == 4) return LEVIN_FLOAT32;
  if (type == CFI_type_double && size == 8) return LEVIN_FLOAT64;
  if (type == CFI_type_Bool) return LEVIN_BOOL;
  if (size == 4 && (type == CFI_type_int32_t || type == CFI_type_int)) return LEVIN_INT32;
  if (size == 8 && (type == CFI_type_int64_t || type == CFI_type_long || type == CFI_type_long_long))
    return LEVIN_INT64;
  if (size == 1 && (type == CFI_type_int8_t || type == CFI_type_signed_char)) return LEVIN_INT8;
  if (size == 2 && (type == CFI_type_int16_t || type == CFI_type_short)) return LEVIN_INT16;
  /* flang's logicals have the codes of these integers, which Fortran has no other types for. */
  if ((size == 2 && type == CFI_type_int_least16_t) || (size == 4 && type == CFI_type_int_least32_t) ||
      (size == 8 && type == CFI_type_int_least64_t))
    return -2;
#ifdef CFI_type_Logical
  if ((type & CFI_type_mask) == CFI_type_Logical) return -2;
#endif
  return -1;
}

static int is_little_endian(void) {
  const int32_t one = 1;
  char first = 0;
  memcpy(&first, &one, 1);
  return first == 1;
}

/* Describes an array where it lies. `is_result`: levin will write to it. `true_is_one`: .true. is stored as 1, so that
 * one byte of a default logical is what levin calls a bool. */
int32_t levin_fortran_describe(const CFI_cdesc_t* array, int32_t is_result, int32_t true_is_one, described* to) {
  int32_t dtype = dtype_of(array), i = 0;
  int64_t element = (int64_t)array->elem_len, offset = 0;
  memset(to, 0, sizeof *to);
  if (dtype == -1) return WRONG_TYPE;
  if (dtype == -2) {
    if (is_result) return LOGICAL_RESULT;
    if (!true_is_one) return LOGICAL_VALUES;
    offset = is_little_endian() ? 0 : element - 1;
    dtype = LEVIN_BOOL;
    element = 1;
  }
  to->dtype = dtype;
  to->element_size = (int32_t)element;
  to->rank = array->rank;
  if (array->base_addr == NULL) return NOT_ALLOCATED; /* an array without elements has an address, too */
  for (i = 0; i < array->rank; ++i) {
    const CFI_dim_t* dimension = &array->dim[i];
    const int32_t place = array->rank - 1 - i;
    if (dimension->extent < 0) return ASSUMED_SIZE;
    if (dimension->sm % element != 0) return ODD_STRIDE;
    to->shape[place] = dimension->extent;
    to->strides[place] = dimension->sm / element;
  }
  to->data = (char*)array->base_addr + offset;
  return FINE;
}

levin_array levin_fortran_array(const described* from) {
  levin_array array = LEVIN_INIT(levin_array);
  array.name = from->name[0] == 0 ? NULL : from->name;
  array.data = from->data;
  array.dtype = from->dtype;
  array.rank = from->rank;
  array.shape = from->shape;
  array.strides = from->strides;
  array.device_type = from->device_type;
  array.device_index = from->device_index;
  array.owner = from->owner;
  return array;
}

int levin_fortran_begin_arrays(arrays_of_call* call, const described* from, size_t count) {
  size_t i = 0;
  call->all = count <= FEW ? call->few : malloc(count * sizeof *call->all);
  if (call->all == NULL) return 0;
  for (i = 0; i < count; ++i) call->all[i] = levin_fortran_array(&from[i]);
  return 1;
}

void levin_fortran_end_arrays(arrays_of_call* call) {
  if (call->all != call->few) free(call->all);
}

/* Copies a described array to the arrays that a source fills; their shapes and names stay in `from`. */
int32_t levin_fortran_fill(const described* from, size_t count, levin_array* to, size_t capacity, size_t* filled) {
  size_t i = 0;
  if (count > capacity) return LEVIN_INVALID;
  for (i = 0; i < count; ++i) to[i] = levin_fortran_array(&from[i]);
  *filled = count;
  return LEVIN_OK;
}

static void fill_zeros(const described* to, int32_t dimension, char* data) {
  int64_t i = 0;
  if (dimension == to->rank) {
    memset(data, 0, (size_t)to->element_size);
    return;
  }
  for (i = 0; i < to->shape[dimension]; ++i)
    fill_zeros(to, dimension + 1, data + i * to->strides[dimension] * to->element_size);
}

levin_status levin_fortran_copy(const described* from, const described* to) {
  if (from->dtype < 0) return NOT_GIVEN;
  if (from->is_absent) {
    fill_zeros(to, 0, to->data);
    return LEVIN_OK;
  }
  const levin_array source = levin_fortran_array(from), target = levin_fortran_array(to);
  return levin_array_copy(&source, &target);
}

int32_t levin_fortran_describe_array(const levin_array* array, described* to) {
  memset(to, 0, sizeof *to);
  if (array->rank > MOST_DIMENSIONS) return WRONG_RANK;
  to->data = array->data;
  to->dtype = array->dtype;
  to->rank = array->rank;
  to->device_type = array->device_type;
  to->device_index = array->device_index;
  to->owner = array->owner;
  to->is_absent = array->owner == NULL ? ZERO : PRESENT;
  if (array->rank > 0) memcpy(to->shape, array->shape, (size_t)array->rank * sizeof to->shape[0]);
  if (array->rank > 0 && array->strides != NULL)
    memcpy(to->strides, array->strides, (size_t)array->rank * sizeof to->strides[0]);
  if (array->name != NULL) strncpy(to->name, array->name, NAME_SIZE - 1);
  return LEVIN_OK;
}

/* Contiguous tensors may have no strides. */
static void set_strides(const levin_array* array, described* to) {
  int64_t stride = 1;
  int32_t i = 0;
  if (array->strides != NULL) return;
  for (i = array->rank - 1; i >= 0; --i) {
    to->strides[i] = stride;
    stride *= array->shape[i];
  }
}

int32_t levin_fortran_of_dlpack(void* tensor, described* to) {
  levin_array array = LEVIN_INIT(levin_array);
  const levin_status status = levin_array_of_dlpack((struct DLManagedTensor*)tensor, &array);
  if (status != LEVIN_OK) return status;
  const int32_t reason = levin_fortran_describe_array(&array, to);
  if (reason == LEVIN_OK) set_strides(&array, to);
  to->is_absent = PRESENT;
  return reason;
}

int32_t levin_fortran_to_dlpack(const described* from, void** tensor) {
  const levin_array array = levin_fortran_array(from);
  struct DLManagedTensor* made = NULL;
  if (from->dtype < 0 || from->is_absent != PRESENT) return NOT_GIVEN;
  const levin_status status = levin_array_to_dlpack(&array, &made);
  *tensor = made;
  return status;
}

/* Lets a pointer of Fortran's point to an array, with the dimensions in Fortran's order. */
static int32_t point(const described* from, CFI_cdesc_t* pointer, int32_t dtype) {
  int32_t i = 0;
  pointer->base_addr = NULL;
  if (from->dtype < 0) return NOT_GIVEN;
  if (from->is_absent) return FINE;
  if (from->dtype != dtype) return WRONG_POINTER;
  if (from->rank != pointer->rank) return WRONG_RANK;
  if (from->device_type != LEVIN_CPU) return ON_DEVICE;
  static char nothing[8]; /* what an empty array points to, so that it is associated */
  pointer->base_addr = from->data == NULL ? nothing : from->data;
  for (i = 0; i < from->rank; ++i) {
    const int32_t place = from->rank - 1 - i;
    pointer->dim[i].lower_bound = 1;
    pointer->dim[i].extent = (CFI_index_t)from->shape[place];
    pointer->dim[i].sm = (CFI_index_t)from->strides[place] * (CFI_index_t)pointer->elem_len;
  }
  return FINE;
}

int32_t levin_fortran_point_real32(const described* from, CFI_cdesc_t* pointer) {
  return point(from, pointer, LEVIN_FLOAT32);
}
int32_t levin_fortran_point_real64(const described* from, CFI_cdesc_t* pointer) {
  return point(from, pointer, LEVIN_FLOAT64);
}
int32_t levin_fortran_point_int32(const described* from, CFI_cdesc_t* pointer) {
  return point(from, pointer, LEVIN_INT32);
}
int32_t levin_fortran_point_int64(const described* from, CFI_cdesc_t* pointer) {
  return point(from, pointer, LEVIN_INT64);
}
