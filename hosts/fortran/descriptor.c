/* The part of the module `levin` that Fortran cannot write: Fortran's array descriptors become arrays of levin, with
 * the dimensions in reverse order; structs of the C interface are filled; handles are counted. */
#include <ISO_Fortran_binding.h>
#include <levin/c_api.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIMENSIONS = CFI_MAX_RANK, NAME_SIZE = 128 };

/* An array of the host's or of levin's; type(described) in levin.f90 has the same fields. The order of the dimensions
 * is levin's. */
typedef struct described {
  void* data;
  int32_t dtype, rank, device_type, device_index;
  int32_t is_absent, element_size; /* is_absent: a gradient that is zero everywhere, which levin does not store */
  int64_t shape[MOST_DIMENSIONS], strides[MOST_DIMENSIONS]; /* strides in elements */
  char name[NAME_SIZE];                                     /* "": none */
} described;

/* Why an array is refused; levin.f90 has the texts. */
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

/* ---- arrays ---- */

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

static levin_array array_of(const described* from) {
  levin_array array = LEVIN_INIT(levin_array);
  array.name = from->name[0] == 0 ? NULL : from->name;
  array.data = from->data;
  array.dtype = from->dtype;
  array.rank = from->rank;
  array.shape = from->shape;
  array.strides = from->strides;
  array.device_type = from->device_type;
  array.device_index = from->device_index;
  return array;
}

enum { FEW = 8 };

/* Arrays for one call of levin's. */
typedef struct arrays_of_call {
  levin_array few[FEW];
  levin_array* all;
} arrays_of_call;

static int begin_arrays(arrays_of_call* call, const described* from, size_t count) {
  size_t i = 0;
  call->all = count <= FEW ? call->few : malloc(count * sizeof *call->all);
  if (call->all == NULL) return 0;
  for (i = 0; i < count; ++i) call->all[i] = array_of(&from[i]);
  return 1;
}

static void end_arrays(arrays_of_call* call) {
  if (call->all != call->few) free(call->all);
}

/* Copies a described array to the arrays that a source fills; their shapes and names stay in `from`. */
int32_t levin_fortran_fill(const described* from, size_t count, levin_array* to, size_t capacity, size_t* filled) {
  size_t i = 0;
  if (count > capacity) return LEVIN_INVALID;
  for (i = 0; i < count; ++i) to[i] = array_of(&from[i]);
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
  const levin_array source = array_of(from), target = array_of(to);
  return levin_array_copy(&source, &target);
}

/* ---- the arrays that levin has; numbers as in levin.f90 ---- */

enum {
  MODEL_RESULT = 1,
  MODEL_WEIGHT = 2,
  READER_RESULT = 3,
  CALL_OUTPUT = 4,
  INPUT_GRADIENT = 5,
  WEIGHT_GRADIENT = 6
};

static levin_status get(int32_t what, void* handle, size_t place, levin_array* array) {
  switch (what) {
    case MODEL_RESULT:
      return levin_model_result(handle, place, array);
    case MODEL_WEIGHT:
      return levin_model_weight(handle, place, array);
    case READER_RESULT:
      return levin_reader_result(handle, place, array);
    case CALL_OUTPUT:
      return levin_call_output(handle, place, array);
    case INPUT_GRADIENT:
      return levin_call_input_gradient(handle, place, array);
    default:
      return levin_call_weight_gradient(handle, place, array);
  }
}

/* Input gradients have no count of their own: a call knows as many as there are places that it answers. */
levin_status levin_fortran_count(int32_t what, void* handle, size_t* count) {
  *count = 0;
  switch (what) {
    case MODEL_RESULT:
      return levin_model_result_count(handle, count);
    case MODEL_WEIGHT:
      return levin_model_weight_count(handle, count);
    case READER_RESULT:
      return levin_reader_result_count(handle, count);
    case CALL_OUTPUT:
      return levin_call_output_count(handle, count);
    case WEIGHT_GRADIENT:
      return levin_call_weight_gradient_count(handle, count);
    default:
      break;
  }
  levin_array array = LEVIN_INIT(levin_array);
  const levin_status first = levin_call_input_gradient(handle, 0, &array);
  if (first != LEVIN_OK) return first;
  do ++*count;
  while (levin_call_input_gradient(handle, *count, &array) == LEVIN_OK);
  return LEVIN_OK;
}

/* Describes the array at a place, or the one with a name that is not "". */
levin_status levin_fortran_get(int32_t what, void* handle, const char* name, size_t place, described* to) {
  levin_array array = LEVIN_INIT(levin_array);
  levin_status status = LEVIN_OK;
  memset(to, 0, sizeof *to);
  if (name[0] == 0) {
    status = get(what, handle, place, &array);
  } else {
    size_t count = 0;
    status = levin_fortran_count(what, handle, &count);
    if (status != LEVIN_OK) return status;
    for (place = 0; place < count; ++place) {
      status = get(what, handle, place, &array);
      if (status != LEVIN_OK || (array.name != NULL && strcmp(array.name, name) == 0)) break;
    }
    if (status == LEVIN_OK && place == count) return NO_SUCH_NAME;
  }
  if (status != LEVIN_OK) return status;
  if (array.rank > MOST_DIMENSIONS) return WRONG_RANK;
  to->data = array.data;
  to->dtype = array.dtype;
  to->rank = array.rank;
  to->device_type = array.device_type;
  to->device_index = array.device_index;
  to->is_absent = array.owner == NULL;
  if (array.rank > 0) {
    memcpy(to->shape, array.shape, (size_t)array.rank * sizeof to->shape[0]);
    memcpy(to->strides, array.strides, (size_t)array.rank * sizeof to->strides[0]);
  }
  if (array.name != NULL) strncpy(to->name, array.name, NAME_SIZE - 1);
  return LEVIN_OK;
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

/* ---- handles: the number of Fortran variables that share each one ---- */

enum { MODEL = 1, SESSION = 2, CALL = 3, READER = 4 }; /* as in levin.f90 */

/* Memory of the host's that is a part of a session's checkpoints. */
typedef struct saved_memory {
  char* data;
  size_t size;
  int has_other_size; /* the checkpoint's bytes did not fit */
  struct saved_memory* next;
} saved_memory;

typedef struct shared_handle {
  int32_t kind;
  void* handle;
  int64_t count;
  saved_memory* memory; /* of a session */
  struct shared_handle* next;
} shared_handle;

static shared_handle* all_shared = NULL;
static atomic_flag is_busy = ATOMIC_FLAG_INIT;

static void lock(void) {
  while (atomic_flag_test_and_set_explicit(&is_busy, memory_order_acquire)) {
  }
}
static void unlock(void) { atomic_flag_clear_explicit(&is_busy, memory_order_release); }

static shared_handle** find(int32_t kind, const void* handle) {
  shared_handle** link = &all_shared;
  while (*link != NULL && ((*link)->handle != handle || (*link)->kind != kind)) link = &(*link)->next;
  return link;
}

static void destroy(int32_t kind, void* handle) {
  switch (kind) {
    case MODEL:
      levin_model_destroy(handle);
      break;
    case SESSION:
      levin_session_destroy(handle);
      break;
    case CALL:
      levin_call_destroy(handle);
      break;
    default:
      levin_reader_destroy(handle);
      break;
  }
}

/* One more variable has the handle. If there is no memory for the number, nobody destroys the handle. */
void levin_fortran_hold(int32_t kind, void* handle) {
  if (handle == NULL) return;
  lock();
  shared_handle* found = *find(kind, handle);
  if (found == NULL) {
    found = calloc(1, sizeof *found);
    if (found != NULL) {
      found->kind = kind;
      found->handle = handle;
      found->next = all_shared;
      all_shared = found;
    }
  }
  if (found != NULL) ++found->count;
  unlock();
}

/* One variable less has the handle; the last one destroys it. A handle that is not known was destroyed before. */
void levin_fortran_release(int32_t kind, void* handle) {
  shared_handle* last = NULL;
  if (handle == NULL) return;
  lock();
  shared_handle** link = find(kind, handle);
  if (*link != NULL && --(*link)->count == 0) {
    last = *link;
    *link = last->next;
  }
  unlock();
  if (last == NULL) return;
  destroy(kind, handle); /* a session may save what is in `memory` here */
  while (last->memory != NULL) {
    saved_memory* next = last->memory->next;
    free(last->memory);
    last->memory = next;
  }
  free(last);
}

/* ---- configs, models, sessions ---- */

/* The texts of a list, which follow each other with a 0 behind each; null if there is no memory. */
static const char** list_of(const char* texts, size_t count) {
  const char** list = malloc((count + 1) * sizeof *list);
  size_t i = 0;
  if (list == NULL) return NULL;
  for (i = 0; i < count; ++i) {
    list[i] = texts;
    texts += strlen(texts) + 1;
  }
  list[count] = NULL;
  return list;
}

static levin_status read_config(const char* file, const char* text, const char* options, size_t option_count,
                                const char* plugins, size_t plugin_count, levin_config* config) {
  *config = (levin_config)LEVIN_INIT(levin_config);
  config->file = file;
  config->text = text;
  config->options = list_of(options, option_count);
  config->option_count = option_count;
  config->plugins = list_of(plugins, plugin_count);
  config->plugin_count = plugin_count;
  return config->options == NULL || config->plugins == NULL ? NO_MEMORY_LEFT : LEVIN_OK;
}

static void free_config(levin_config* config) {
  free((void*)config->options);
  free((void*)config->plugins);
}

levin_status levin_fortran_create(const char* file, const char* text, const char* options, size_t option_count,
                                  const char* plugins, size_t plugin_count, const char* weights, void** model) {
  levin_config config;
  levin_model* made = NULL;
  levin_status status = read_config(file, text, options, option_count, plugins, plugin_count, &config);
  if (status == LEVIN_OK) status = levin_model_create(&config, weights, &made);
  free_config(&config);
  *model = made;
  levin_fortran_hold(MODEL, made);
  return status;
}

levin_status levin_fortran_start(const char* file, const char* text, const char* options, size_t option_count,
                                 const char* plugins, size_t plugin_count, void* model, const char* ckpt_path,
                                 int64_t batches_per_epoch, int32_t host_saves, int32_t join_launcher, const void* ranks,
                                 void** session) {
  levin_config config;
  levin_session_options asked = LEVIN_INIT(levin_session_options);
  levin_session* made = NULL;
  levin_status status = read_config(file, text, options, option_count, plugins, plugin_count, &config);
  asked.config = &config;
  asked.model = model;
  asked.ckpt_path = ckpt_path;
  asked.batches_per_epoch = batches_per_epoch;
  asked.host_saves = host_saves;
  asked.join_launcher = join_launcher;
  asked.ranks = (const levin_ranks*)ranks;
  if (status == LEVIN_OK) status = levin_session_start(&asked, &made);
  free_config(&config);
  *session = made;
  levin_fortran_hold(SESSION, made);
  return status;
}

levin_status levin_fortran_run(int32_t kind, void* handle, const char* function, const described* inputs,
                               size_t count) {
  arrays_of_call arrays;
  levin_status status = LEVIN_OK;
  if (!begin_arrays(&arrays, inputs, count)) return NO_MEMORY_LEFT;
  if (kind == READER) {
    status = levin_reader_run(handle, function, arrays.all, count);
  } else {
    status = levin_model_run(handle, function, arrays.all, count);
  }
  end_arrays(&arrays);
  return status;
}

levin_status levin_fortran_forward(int32_t kind, void* handle, const char* function, const described* inputs,
                                   size_t count, int32_t wanted, void** call) {
  arrays_of_call arrays;
  levin_status status = LEVIN_OK;
  levin_call* made = NULL;
  *call = NULL;
  if (!begin_arrays(&arrays, inputs, count)) return NO_MEMORY_LEFT;
  if (kind == SESSION) {
    status = levin_session_call(handle, function, arrays.all, count, wanted, &made);
  } else {
    status = levin_model_call(handle, function, arrays.all, count, wanted, &made);
  }
  end_arrays(&arrays);
  *call = made;
  levin_fortran_hold(CALL, made);
  return status;
}

/* Gradients without names are those of the outputs in their order. Gradients with names are those of the outputs of
 * these names; the loss does not depend on the others. */
levin_status levin_fortran_backward(void* call, const described* gradients, size_t count) {
  size_t outputs = 0, i = 0, place = 0, used = 0;
  arrays_of_call arrays;
  levin_status status = levin_call_output_count(call, &outputs);
  if (status != LEVIN_OK) return status;
  if (count == 0 || gradients[0].name[0] == 0) {
    if (!begin_arrays(&arrays, gradients, count)) return NO_MEMORY_LEFT;
    status = levin_call_backward(call, arrays.all, count);
    end_arrays(&arrays);
    return status;
  }
  levin_array* all = calloc(outputs + 1, sizeof *all);
  if (all == NULL) return NO_MEMORY_LEFT;
  for (place = 0; place < outputs; ++place) {
    levin_array output = LEVIN_INIT(levin_array);
    status = levin_call_output(call, place, &output);
    if (status != LEVIN_OK) break;
    all[place].struct_size = sizeof all[place];
    for (i = 0; i < count; ++i) {
      if (output.name == NULL || strcmp(output.name, gradients[i].name) != 0) continue;
      all[place] = array_of(&gradients[i]);
      ++used;
    }
  }
  if (status == LEVIN_OK) status = used == count ? levin_call_backward(call, all, outputs) : NO_SUCH_NAME;
  free(all);
  return status;
}

static void tell(const levin_step_result* result, int32_t* flags) {
  flags[0] = result->trained;
  flags[1] = result->stepped;
  flags[2] = result->skipped;
  flags[3] = result->ended_epoch;
}

levin_status levin_fortran_step(void* session, const described* inputs, size_t count, int32_t* flags) {
  arrays_of_call arrays;
  levin_step_result result = LEVIN_INIT(levin_step_result);
  if (!begin_arrays(&arrays, inputs, count)) return NO_MEMORY_LEFT;
  const levin_status status = levin_session_step(session, arrays.all, count, &result);
  end_arrays(&arrays);
  tell(&result, flags);
  return status;
}

levin_status levin_fortran_step_calls(void* session, double loss, void* const* calls, size_t count, int32_t* flags) {
  levin_step_result result = LEVIN_INIT(levin_step_result);
  levin_call** given = malloc((count + 1) * sizeof *given);
  size_t i = 0;
  if (given == NULL) return NO_MEMORY_LEFT;
  for (i = 0; i < count; ++i) given[i] = calls[i];
  const levin_status status = levin_session_step_calls(session, loss, given, count, &result);
  free(given);
  tell(&result, flags);
  return status;
}

levin_status levin_fortran_step_loss(void* session, levin_loss_function function, void* context, int32_t* flags) {
  levin_step_result result = LEVIN_INIT(levin_step_result);
  const levin_status status = levin_session_step_loss(session, function, context, &result);
  tell(&result, flags);
  return status;
}

typedef levin_status (*next_function)(void* context, int64_t epoch, int64_t batch, levin_array* arrays, size_t capacity,
                                      size_t* count);

static levin_source source_of(next_function next, void* context) {
  levin_source source = LEVIN_INIT(levin_source);
  source.context = context;
  source.next = next;
  return source;
}

levin_status levin_fortran_validate(void* session, next_function next, void* context) {
  const levin_source source = source_of(next, context);
  return levin_session_validate(session, &source);
}

/* A null `validation`: none. */
levin_status levin_fortran_fit(void* session, next_function next, void* train, void* validation) {
  const levin_source of_train = source_of(next, train), of_validation = source_of(next, validation);
  return levin_session_fit(session, &of_train, validation == NULL ? NULL : &of_validation);
}

levin_status levin_fortran_state(void* session, int64_t* counts, double* seconds, int32_t* flags) {
  levin_session_state state = LEVIN_INIT(levin_session_state);
  const levin_status status = levin_session_get_state(session, &state);
  counts[0] = state.epoch;
  counts[1] = state.step;
  counts[2] = state.batches;
  counts[3] = state.samples;
  *seconds = state.seconds;
  flags[0] = state.is_paused;
  flags[1] = state.is_over;
  return status;
}

levin_status levin_fortran_finish(void* session, int64_t* counts, double* seconds, int32_t* stopped) {
  levin_result result = LEVIN_INIT(levin_result);
  const levin_status status = levin_session_finish(session, &result);
  counts[0] = result.epochs;
  counts[1] = result.steps;
  counts[2] = result.batches;
  counts[3] = result.non_finite_step;
  *seconds = result.seconds;
  *stopped = result.stopped;
  return status;
}

levin_status levin_fortran_get_model(void* session, void** model) {
  levin_model* made = NULL;
  const levin_status status = levin_session_model(session, &made);
  *model = made;
  levin_fortran_hold(MODEL, made);
  return status;
}

levin_status levin_fortran_reader(void* session, void** reader) {
  levin_reader* made = NULL;
  const levin_status status = levin_reader_create(session, &made);
  *reader = made;
  levin_fortran_hold(READER, made);
  return status;
}

levin_status levin_fortran_weights(void* model, const described* flat, int32_t is_set) {
  const levin_array array = array_of(flat);
  return is_set ? levin_model_set_weights(model, &array) : levin_model_get_weights(model, &array);
}

levin_status levin_fortran_device_name(int32_t place, char* name, size_t size) {
  levin_device device = LEVIN_INIT(levin_device);
  const levin_status status = levin_device_info(place, &device);
  name[0] = 0;
  if (status == LEVIN_OK) strncat(name, device.name, size - 1);
  return status;
}

/* ---- memory of the host's in the checkpoints ---- */

static levin_status save_memory(void* context, levin_state_writer* writer) {
  const saved_memory* memory = context;
  return levin_state_write(writer, memory->data, memory->size);
}

static levin_status load_memory(void* context, const void* bytes, size_t size) {
  saved_memory* memory = context;
  memory->has_other_size = size != memory->size;
  if (memory->has_other_size) return LEVIN_INVALID;
  if (size > 0) memcpy(memory->data, bytes, size);
  return LEVIN_OK;
}

/* Makes a contiguous array of any plain type a part of the session's checkpoints. */
int32_t levin_fortran_register(void* session, const char* name, const CFI_cdesc_t* array) {
  size_t size = array->elem_len;
  int32_t i = 0;
  if (array->base_addr == NULL) return NOT_ALLOCATED;
  for (i = 0; i < array->rank; ++i) {
    if (array->dim[i].extent < 0) return ASSUMED_SIZE;
    if (array->dim[i].extent > 1 && (size_t)array->dim[i].sm != size) return NOT_CONTIGUOUS;
    size *= (size_t)array->dim[i].extent;
  }
  saved_memory* memory = calloc(1, sizeof *memory);
  if (memory == NULL) return NO_MEMORY_LEFT;
  memory->data = array->base_addr;
  memory->size = size;
  lock();
  shared_handle* held = *find(SESSION, session);
  if (held != NULL) {
    memory->next = held->memory;
    held->memory = memory;
  }
  unlock();
  levin_host_state state = LEVIN_INIT(levin_host_state);
  state.context = memory;
  state.save = save_memory;
  state.load = load_memory;
  const levin_status status = levin_session_register_state(session, name, &state);
  const int has_other_size = memory->has_other_size;
  if (held == NULL) free(memory); /* no session: levin refused it */
  return has_other_size ? STATE_SIZE : status;
}
