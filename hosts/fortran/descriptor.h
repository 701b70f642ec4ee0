/* What the C files of the module `levin` share. */
#ifndef LEVIN_FORTRAN_DESCRIPTOR_H
#define LEVIN_FORTRAN_DESCRIPTOR_H

#include <ISO_Fortran_binding.h>
#include <levin/c_api.h>

enum { MOST_DIMENSIONS = CFI_MAX_RANK, NAME_SIZE = 128 };

/* An array of the host's or of levin's; type(described) in levin_arrays.f90 has the same fields. The order of the
 * dimensions is levin's. */
typedef struct described {
  void* data;
  int32_t dtype, rank, device_type, device_index;
  int32_t is_absent, element_size;
  int64_t shape[MOST_DIMENSIONS], strides[MOST_DIMENSIONS]; /* strides in elements */
  char name[NAME_SIZE];                                     /* "": none */
  void* owner;                                              /* of levin's arrays */
} described;

/* Values of is_absent: there is a memory; a gradient that is zero everywhere, which levin does not store; an input or
 * output of a model whose description has no memory. */
enum { PRESENT = 0, ZERO = 1, ONLY_DESCRIBED = 2 };

/* Why an array is refused; levin_arrays.f90 has the texts. */
enum {
  FINE = 0,
  NOT_ALLOCATED = -1,
  ASSUMED_SIZE = -2,
  WRONG_TYPE = -3,
  ODD_STRIDE = -4,
  LOGICAL_RESULT = -5,
  LOGICAL_VALUES = -6,
  WRONG_RANK = -7,
  ON_DEVICE = -8,
  WRONG_POINTER = -9,
  NOT_CONTIGUOUS = -10,
  STATE_SIZE = -11,
  NO_SUCH_NAME = -12,
  NO_MEMORY_LEFT = -13,
  NOT_GIVEN = -14
};

/* Kinds of handles. */
enum { UNKNOWN = 0, MODEL = 1, SESSION = 2, CALL = 3, READER = 4, REPLAY = 5, ROLLOUT = 6 };

levin_array levin_fortran_array(const described* from);
/* Describes an array of levin's; one whose rank is not known gets the rank -1. */
int32_t levin_fortran_describe_array(const levin_array* array, described* to);

enum { FEW = 8 };

/* Arrays for one call of levin's. */
typedef struct arrays_of_call {
  levin_array few[FEW];
  levin_array* all;
} arrays_of_call;
int levin_fortran_begin_arrays(arrays_of_call* call, const described* from, size_t count);
void levin_fortran_end_arrays(arrays_of_call* call);

/* A new handle, which one variable has. If there is no memory for the number, nobody destroys the handle. */
void levin_fortran_hold(int32_t kind, void* handle);
/* Returns the kind of a handle that variables have. */
int32_t levin_fortran_kind(const void* handle);
/* Keeps something until the session's last variable has let go of it; refused if there is no such session. */
int levin_fortran_keep(void* session, void* kept, void (*free_kept)(void*));

#endif
