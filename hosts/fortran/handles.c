/* How many Fortran variables share each handle, and what is kept as long as a session lives. */
#include "descriptor.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* What a session needs until it has ended. */
typedef struct kept_thing {
  void* kept;
  void (*free_kept)(void*);
  struct kept_thing* next;
} kept_thing;

typedef struct shared_handle {
  int32_t kind;
  void* handle;
  int64_t count;
  kept_thing* things; /* of a session */
  struct shared_handle* next;
} shared_handle;

static shared_handle* all_shared = NULL;
static atomic_flag is_busy = ATOMIC_FLAG_INIT;

static void lock(void) {
  while (atomic_flag_test_and_set_explicit(&is_busy, memory_order_acquire)) {
  }
}
static void unlock(void) { atomic_flag_clear_explicit(&is_busy, memory_order_release); }

/* Handles of all kinds have different numbers. */
static shared_handle** find(const void* handle) {
  shared_handle** link = &all_shared;
  while (*link != NULL && (*link)->handle != handle) link = &(*link)->next;
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
    case REPLAY:
      levin_replay_destroy(handle);
      break;
    case ROLLOUT:
      levin_rollout_destroy(handle);
      break;
    default:
      levin_reader_destroy(handle);
      break;
  }
}

void levin_fortran_hold(int32_t kind, void* handle) {
  if (handle == NULL) return;
  shared_handle* made = calloc(1, sizeof *made);
  if (made == NULL) return;
  made->kind = kind;
  made->handle = handle;
  made->count = 1;
  lock();
  made->next = all_shared;
  all_shared = made;
  unlock();
}

/* One more variable has the handle. */
void levin_fortran_share(void* handle) {
  if (handle == NULL) return;
  lock();
  shared_handle* found = *find(handle);
  if (found != NULL) ++found->count;
  unlock();
}

int32_t levin_fortran_kind(const void* handle) {
  lock();
  const shared_handle* found = *find(handle);
  const int32_t kind = found == NULL ? UNKNOWN : found->kind;
  unlock();
  return kind;
}

int levin_fortran_keep(void* session, void* kept, void (*free_kept)(void*)) {
  kept_thing* thing = calloc(1, sizeof *thing);
  if (thing == NULL) return 0;
  thing->kept = kept;
  thing->free_kept = free_kept;
  lock();
  shared_handle* held = *find(session);
  if (held != NULL) {
    thing->next = held->things;
    held->things = thing;
  }
  unlock();
  if (held == NULL) free(thing);
  return held != NULL;
}

/* One variable less has the handle; the last one destroys it. A handle that is not known was destroyed before. */
void levin_fortran_release(void* handle) {
  shared_handle* last = NULL;
  if (handle == NULL) return;
  lock();
  shared_handle** link = find(handle);
  if (*link != NULL && --(*link)->count == 0) {
    last = *link;
    *link = last->next;
  }
  unlock();
  if (last == NULL) return;
  destroy(last->kind, handle); /* a session may use here what is kept */
  while (last->things != NULL) {
    kept_thing* next = last->things->next;
    last->things->free_kept(last->things->kept);
    free(last->things);
    last->things = next;
  }
  free(last);
}

/* ---- memory of the host's in the checkpoints ---- */

typedef struct saved_memory {
  char* data;
  size_t size;
  int has_other_size; /* the checkpoint's bytes did not fit */
} saved_memory;

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
  const int is_kept = levin_fortran_keep(session, memory, free);
  levin_host_state state = LEVIN_INIT(levin_host_state);
  state.context = memory;
  state.save = save_memory;
  state.load = load_memory;
  const levin_status status = levin_session_register_state(session, name, &state);
  const int has_other_size = memory->has_other_size;
  if (!is_kept) free(memory); /* no session: levin refused it */
  return has_other_size ? STATE_SIZE : status;
}
