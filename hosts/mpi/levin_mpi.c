#include <levin/levin_mpi.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Counts of MPI are ints; a larger operation is begun in pieces. */
#define MOST_ELEMENTS ((int64_t)1 << 28)

typedef struct Ranks {
  MPI_Comm communicator;
  int is_multiple; /* any thread may call MPI */
  char error[MPI_MAX_ERROR_STRING + 128];
  struct Ranks* next;
} Ranks;

typedef struct {
  MPI_Request* pieces;
  int count;
} Request;

static char first_error[512];
static int has_initialised = 0; /* levin_mpi_start has called MPI_Init_thread */
static int has_failed = 0;      /* ranks do not come any more */

/* The ranks that are not released yet: a host may give back what a session has released. */
static Ranks* all_ranks = NULL;
static volatile int is_busy = 0;

static void keep(Ranks* ranks) {
  while (__sync_lock_test_and_set(&is_busy, 1)) {
  }
  ranks->next = all_ranks;
  all_ranks = ranks;
  __sync_lock_release(&is_busy);
}

/* Returns whether these are ranks, and forgets them. */
static int forget(const void* context) {
  Ranks** link = &all_ranks;
  int is_known;
  while (__sync_lock_test_and_set(&is_busy, 1)) {
  }
  while (*link != NULL && *link != context) link = &(*link)->next;
  is_known = *link != NULL;
  if (is_known) *link = (*link)->next;
  __sync_lock_release(&is_busy);
  return is_known;
}

static levin_status refuse(const char* text) {
  snprintf(first_error, sizeof first_error, "%s", text);
  return LEVIN_INVALID;
}

static levin_status fail(Ranks* ranks, const char* call, int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) snprintf(text, sizeof text, "error %d", code);
  snprintf(ranks->error, sizeof ranks->error, "%s: %s", call, text);
  return LEVIN_FAILED;
}

static levin_status fail_text(Ranks* ranks, const char* text) {
  snprintf(ranks->error, sizeof ranks->error, "%s", text);
  return LEVIN_FAILED;
}

/* Returns whether this thread may call MPI. */
static int may_call(Ranks* ranks) {
  int is_main = 0, is_over = 0;
  MPI_Finalized(&is_over);
  if (is_over) {
    fail_text(ranks, "MPI was finalised while the session still trains; finish the session before MPI_Finalize");
    return 0;
  }
  if (ranks->is_multiple) return 1;
  MPI_Is_thread_main(&is_main);
  if (is_main) return 1;
  fail_text(ranks,
            "this thread did not initialise MPI, which was asked for less than MPI_THREAD_MULTIPLE; train in that "
            "thread, or initialise MPI with MPI_THREAD_MULTIPLE");
  return 0;
}

static MPI_Datatype type_of(levin_dtype dtype, size_t* bytes) {
  switch (dtype) {
    case LEVIN_FLOAT32:
      *bytes = 4;
      return MPI_FLOAT;
    case LEVIN_FLOAT64:
      *bytes = 8;
      return MPI_DOUBLE;
    case LEVIN_INT32:
      *bytes = 4;
      return MPI_INT32_T;
    case LEVIN_INT64:
      *bytes = 8;
      return MPI_INT64_T;
    case LEVIN_INT16:
      *bytes = 2;
      return MPI_INT16_T;
    case LEVIN_INT8:
      *bytes = 1;
      return MPI_INT8_T;
    case LEVIN_FLOAT16: /* moved, never added: levin reduces these as float32 */
    case LEVIN_BFLOAT16:
      *bytes = 2;
      return MPI_UINT16_T;
    default: /* LEVIN_UINT8, LEVIN_BOOL */
      *bytes = 1;
      return MPI_UINT8_T;
  }
}

static MPI_Op op_of(int32_t reduction) {
  switch (reduction) {
    case LEVIN_MIN:
      return MPI_MIN;
    case LEVIN_MAX:
      return MPI_MAX;
    case LEVIN_PRODUCT:
      return MPI_PROD;
    default:
      return MPI_SUM;
  }
}

static void drop(Request* request) {
  free(request->pieces);
  free(request);
}

/* Begins the piece of `count` elements that begins at the byte `offset`. */
static int begin_piece(Ranks* ranks, const levin_operation* operation, size_t offset, int count, MPI_Request* piece) {
  size_t bytes = 0;
  const MPI_Datatype type = type_of(operation->dtype, &bytes);
  const char* from = (const char*)operation->from + offset;
  char* to = (char*)operation->to + offset;
  const int in_place = operation->from == operation->to;
  switch (operation->kind) {
    case LEVIN_ALL_REDUCE:
      return MPI_Iallreduce(in_place ? MPI_IN_PLACE : (const void*)from, to, count, type, op_of(operation->reduction),
                            ranks->communicator, piece);
    case LEVIN_BROADCAST:
      return MPI_Ibcast(to, count, type, operation->peer, ranks->communicator, piece);
    case LEVIN_SEND:
      return MPI_Isend(from, count, type, operation->peer, operation->tag, ranks->communicator, piece);
    default:
      return MPI_Irecv(to, count, type, operation->peer, operation->tag, ranks->communicator, piece);
  }
}

/* Operations with a part for each rank, of which MPI counts one. */
static int begin_parts(Ranks* ranks, const levin_operation* operation, MPI_Request* piece) {
  size_t bytes;
  const MPI_Datatype type = type_of(operation->dtype, &bytes);
  const int count = (int)operation->count;
  if (operation->kind == LEVIN_ALL_GATHER)
    return MPI_Iallgather(operation->from, count, type, operation->to, count, type, ranks->communicator, piece);
  return MPI_Ireduce_scatter_block(operation->from, operation->to, count, type, op_of(operation->reduction),
                                   ranks->communicator, piece);
}

static levin_status begin(void* context, const levin_operation* operation, void** begun) {
  Ranks* ranks = (Ranks*)context;
  const int is_of_parts = operation->kind == LEVIN_ALL_GATHER || operation->kind == LEVIN_REDUCE_SCATTER;
  Request* request;
  size_t bytes = 0;
  int64_t done = 0;
  int code = MPI_SUCCESS, pieces;
  if (!may_call(ranks)) return LEVIN_FAILED;
  if (is_of_parts && operation->count > INT_MAX)
    return fail_text(ranks, "a rank's part has more elements than MPI counts");
  type_of(operation->dtype, &bytes);
  pieces = is_of_parts || operation->count == 0 ? 1 : (int)((operation->count + MOST_ELEMENTS - 1) / MOST_ELEMENTS);
  request = (Request*)calloc(1, sizeof *request);
  if (request == NULL) return fail_text(ranks, "there is not enough memory");
  request->pieces = (MPI_Request*)malloc((size_t)pieces * sizeof(MPI_Request));
  if (request->pieces == NULL) {
    drop(request);
    return fail_text(ranks, "there is not enough memory");
  }
  if (is_of_parts) {
    code = begin_parts(ranks, operation, &request->pieces[0]);
    request->count = 1;
  } else {
    do {
      const int64_t left = operation->count - done;
      const int count = (int)(left < MOST_ELEMENTS ? left : MOST_ELEMENTS);
      code = begin_piece(ranks, operation, (size_t)done * bytes, count, &request->pieces[request->count]);
      ++request->count;
      done += count;
    } while (code == MPI_SUCCESS && done < operation->count);
  }
  if (code != MPI_SUCCESS) {
    drop(request);
    return fail(ranks, "MPI could not begin an operation", code);
  }
  *begun = request;
  return LEVIN_OK;
}

static levin_status test(void* context, void* begun, int32_t* ended) {
  Ranks* ranks = (Ranks*)context;
  Request* request = (Request*)begun;
  int has_ended = 1, i, code;
  if (!may_call(ranks)) return LEVIN_FAILED;
  for (i = 0; i < request->count; ++i) { /* one that has ended is MPI_REQUEST_NULL, which has */
    int of_piece = 0;
    code = MPI_Test(&request->pieces[i], &of_piece, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return fail(ranks, "an operation of MPI failed", code);
    has_ended = has_ended && of_piece;
  }
  *ended = has_ended;
  if (has_ended) drop(request);
  return LEVIN_OK;
}

static void release(void* context, int32_t failed) {
  Ranks* ranks = (Ranks*)context;
  int is_over = 0;
  if (!forget(ranks)) return;
  MPI_Finalized(&is_over);
  has_failed = has_failed || failed;
  /* MPI_Comm_free is a call of all ranks, which do not come after a failure. */
  if (!is_over && !failed && may_call(ranks)) MPI_Comm_free(&ranks->communicator);
  free(ranks);
}

static const char* error_of(void* context) { return ((Ranks*)context)->error; }

static levin_status part(void* context, const int32_t* numbers, int32_t count, levin_ranks* made);

/* Finds out which ranks are on this machine, and the machine's number: machines are numbered by their first ranks. */
static int find_machine(MPI_Comm communicator, levin_ranks* made) {
  MPI_Comm machine;
  int is_first, first = 0, rank, local_rank, local_size, node = 0, code;
  MPI_Comm_rank(communicator, &rank);
  code = MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine);
  if (code != MPI_SUCCESS) return code;
  MPI_Comm_rank(machine, &local_rank);
  MPI_Comm_size(machine, &local_size);
  is_first = local_rank == 0;
  code = MPI_Scan(&is_first, &first, 1, MPI_INT, MPI_SUM, communicator);
  node = first - 1;
  if (code == MPI_SUCCESS) code = MPI_Bcast(&node, 1, MPI_INT, 0, machine);
  MPI_Comm_free(&machine);
  made->local_rank = local_rank;
  made->local_size = local_size;
  made->node = node;
  return code;
}

/* Takes the communicator, which is levin's own. */
static levin_status fill(MPI_Comm communicator, int is_multiple, levin_ranks* made) {
  Ranks* ranks;
  int rank, size;
  MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  if (find_machine(communicator, made) != MPI_SUCCESS) return LEVIN_FAILED;
  ranks = (Ranks*)calloc(1, sizeof *ranks);
  if (ranks == NULL) return LEVIN_NO_MEMORY;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  ranks->communicator = communicator;
  ranks->is_multiple = is_multiple;
  keep(ranks);
  made->context = ranks;
  made->rank = rank;
  made->size = size;
  made->begin = begin;
  made->test = test;
  made->part = part;
  made->release = release;
  made->error = error_of;
  return LEVIN_OK;
}

static levin_status part(void* context, const int32_t* numbers, int32_t count, levin_ranks* made) {
  Ranks* ranks = (Ranks*)context;
  MPI_Group all, some;
  MPI_Comm communicator = MPI_COMM_NULL;
  int* places;
  int32_t i;
  int code;
  if (!may_call(ranks)) return LEVIN_FAILED;
  places = (int*)malloc((size_t)count * sizeof(int));
  if (places == NULL) return fail_text(ranks, "there is not enough memory");
  for (i = 0; i < count; ++i) places[i] = numbers[i];
  MPI_Comm_group(ranks->communicator, &all);
  MPI_Group_incl(all, count, places, &some);
  code = MPI_Comm_create_group(ranks->communicator, some, /*tag=*/0, &communicator);
  MPI_Group_free(&some);
  MPI_Group_free(&all);
  free(places);
  if (code != MPI_SUCCESS) return fail(ranks, "MPI could not make a part of the communicator", code);
  return fill(communicator, ranks->is_multiple, made);
}

levin_status levin_mpi_ranks(MPI_Comm communicator, levin_ranks* ranks) {
  MPI_Comm own;
  int is_initialised = 0, is_over = 0, level = MPI_THREAD_SINGLE, code;
  levin_status status;
  if (ranks == NULL || ranks->struct_size < sizeof *ranks) return refuse("the ranks are null, or have no struct_size");
  MPI_Initialized(&is_initialised);
  if (is_initialised) MPI_Finalized(&is_over);
  if (!is_initialised || is_over) return refuse("MPI is not initialised, or was finalised");
  MPI_Query_thread(&level);
  if (level == MPI_THREAD_SINGLE)
    return refuse(
        "MPI was initialised for one thread alone, and LibTorch has several; call MPI_Init_thread with "
        "MPI_THREAD_FUNNELED");
  if (communicator == MPI_COMM_NULL) return refuse("the communicator is MPI_COMM_NULL");
  code = MPI_Comm_dup(communicator, &own);
  if (code != MPI_SUCCESS) {
    refuse("MPI could not duplicate the communicator");
    return LEVIN_FAILED;
  }
  status = fill(own, level == MPI_THREAD_MULTIPLE, ranks);
  if (status != LEVIN_OK) {
    refuse("MPI could not find out which ranks are on one machine");
    MPI_Comm_free(&own);
  }
  return status;
}

levin_status levin_mpi_ranks_f(MPI_Fint communicator, levin_ranks* ranks) {
  return levin_mpi_ranks(MPI_Comm_f2c(communicator), ranks);
}

/* Returns whether MPI has the launcher's rank and size. */
static int is_rank(int32_t rank, int32_t size) {
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int own_rank, own_size, length;
  MPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &own_size);
  if (own_rank == rank && own_size == size) return 1;
  MPI_Get_library_version(library, &length);
  library[strcspn(library, ",\n")] = '\0';
  snprintf(first_error, sizeof first_error,
           "the launcher's rank %d of %d is rank %d of %d to MPI; start the ranks by the mpirun of the MPI that "
           "liblevin_mpi.so was built with (%.80s), or build it with the other one's mpicc",
           (int)rank, (int)size, own_rank, own_size, library);
  return 0;
}

levin_status levin_mpi_start(int32_t rank, int32_t size, levin_ranks* ranks) {
  int is_initialised = 0, level;
  MPI_Initialized(&is_initialised);
  if (!is_initialised) {
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS)
      return refuse("MPI could not be initialised");
    has_initialised = 1;
  }
  return is_rank(rank, size) ? levin_mpi_ranks(MPI_COMM_WORLD, ranks) : LEVIN_INVALID;
}

void levin_mpi_finish(void) {
  int is_over = 0;
  if (!has_initialised || has_failed) return;
  MPI_Finalized(&is_over);
  if (!is_over) MPI_Finalize();
}

const char* levin_mpi_error(void) { return first_error; }

void levin_mpi_release(levin_ranks* ranks) {
  if (ranks == NULL || ranks->context == NULL) return;
  release(ranks->context, 0);
  ranks->context = NULL;
}
