/* levin's C interface: training and inference from any language that calls C. C99; no type of LibTorch.
 *
 * Status. Every function that can fail returns a levin_status; levin_error() then has the text. No exception, exit or
 * signal crosses the interface. A call that is refused before it begins changes nothing. An error inside of a step ends
 * the session: each further call says so, and only levin_session_destroy is left.
 *
 * Handles are opaque. A null handle, one that was destroyed and one of another kind are refused with LEVIN_INVALID.
 * Handles may be passed between threads. One thread at a time calls functions of one handle, except where "any thread"
 * is said. An object lives until the calls that other threads are in have returned. Destroying its handle meanwhile
 * waits for nothing, but for a session's step or validation, after which the session is finished.
 *
 * Structs begin with struct_size: set it to sizeof the struct. Fields that are added later stay 0 for older programs,
 * so 0 is each field's default. LEVIN_INIT(type) makes one: levin_array x = LEVIN_INIT(levin_array).
 *
 * Texts are UTF-8 and end with 0. Texts and arrays that levin returns are borrowed: until the next call with the same
 * handle, if nothing else is said.
 *
 * By default levin is silent, writes no file, handles no signal and changes nothing of the process
 * (TrainerOptions::embedded); the config turns on what is wanted. */
#ifndef LEVIN_C_API_H
#define LEVIN_C_API_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define LEVIN_API __attribute__((visibility("default")))
#else
#define LEVIN_API
#endif

/* The version of this header. A library with the same number, or a larger one, serves the program. */
#define LEVIN_ABI_VERSION 1

#ifdef __cplusplus
/* A struct of zeros but for its size. */
template <class T>
inline T levin_initial() {
  T made = T();
  made.struct_size = sizeof(T);
  return made;
}
#define LEVIN_INIT(type) levin_initial<type>()
extern "C" {
#else
#define LEVIN_INIT(type) {.struct_size = sizeof(type)}
#endif

typedef int32_t levin_status;
enum {
  LEVIN_OK = 0,
  LEVIN_INVALID = 1, /* the call is wrong: a null, a shape, an option, a handle that has ended */
  LEVIN_FAILED = 2,  /* the work failed: a file, a rank, the device, a step */
  LEVIN_NO_MEMORY = 3
};

/* ---- the library; any thread ---- */

/* Returns the version of the interface that the library has. */
LEVIN_API int32_t levin_abi_version(void);
/* Returns levin's version, and what it was built with, as one line. */
LEVIN_API const char* levin_version(void);
LEVIN_API const char* levin_build(void);
/* Returns the text of the newest error in the calling thread; "" before the first. It lives until the thread's next
 * error. */
LEVIN_API const char* levin_error(void);
/* Seeds LibTorch's default random numbers, which draw initial weights. The config's `seed` does the same for a session.
 */
LEVIN_API levin_status levin_seed(uint64_t seed);

enum { LEVIN_CPU = 0, LEVIN_CUDA = 1 };
typedef struct levin_device {
  size_t struct_size;
  int32_t type, index;
  int64_t memory; /* bytes in all; 0 if unknown */
  char name[256];
} levin_device;
/* Returns how many devices there are: the CPU, and each GPU that this process sees. */
LEVIN_API int32_t levin_device_count(void);
LEVIN_API levin_status levin_device_info(int32_t place, levin_device* device);

/* ---- arrays ---- */

typedef int32_t levin_dtype;
enum {
  LEVIN_FLOAT32 = 0,
  LEVIN_FLOAT64 = 1,
  LEVIN_INT32 = 2,
  LEVIN_INT64 = 3,
  LEVIN_UINT8 = 4,
  LEVIN_BOOL = 5, /* one byte, 0 or 1 */
  LEVIN_INT8 = 6,
  LEVIN_INT16 = 7,
  LEVIN_FLOAT16 = 8,
  LEVIN_BFLOAT16 = 9
};

/* An array in the host's memory or in levin's: a view, never a copy.
 *
 * As an input it is borrowed for the call; `name` is the entry of the batch ("input", "target", or what the model
 * reads), and without one the first array is "input" and the second "target". Strides may be of any order and sign, so
 * that columns, sections and reversed arrays need no copy (those with a negative stride are copied). Floating-point
 * inputs of another dtype than the model's are converted.
 *
 * As an output, levin fills all fields: the memory is levin's. */
typedef struct levin_array {
  size_t struct_size;
  const char* name; /* may be null in inputs */
  void* data;       /* on the device */
  levin_dtype dtype;
  int32_t rank;           /* 0 to 16; 0: one number */
  const int64_t* shape;   /* [rank] */
  const int64_t* strides; /* [rank], in elements; null: contiguous, the last dimension fastest */
  int32_t device_type, device_index;
  void* owner; /* of levin's arrays; null in the host's */
} levin_array;

/* Copies the elements of `from` to `to`, which has the same shape; dtype, strides and device may differ, and the two
 * may share memory. */
LEVIN_API levin_status levin_array_copy(const levin_array* from, const levin_array* to);

/* DLPack, which NumPy, JAX, CuPy, PyTorch and others take. struct DLManagedTensor is that of dlpack.h. */
struct DLManagedTensor;
/* Describes a tensor of another library. The array borrows its memory, shape and strides: the caller keeps the tensor
 * as long as the array is used, and calls its deleter afterwards. Its `name` is null. */
LEVIN_API levin_status levin_array_of_dlpack(struct DLManagedTensor* tensor, levin_array* array);
/* Makes a tensor for another library, which calls its deleter. Levin's memory stays alive until then; an array of the
 * host's must itself outlive the tensor. */
LEVIN_API levin_status levin_array_to_dlpack(const levin_array* array, struct DLManagedTensor** tensor);

/* ---- configs ---- */

/* What a config file of `levin fit` says: seed, name, trainer, model, data. Later fields override earlier ones. */
typedef struct levin_config {
  size_t struct_size;
  const char* file;           /* a JSON file; null: none */
  const char* text;           /* JSON; null: none. Relative paths begin at the current folder */
  const char* const* options; /* "trainer.max_steps=1000", "model.optimizer.lr=0.01" */
  size_t option_count;
  const char* const* plugins; /* shared libraries that register classes; they stay loaded */
  size_t plugin_count;
} levin_config;

/* ---- models ---- */

typedef struct levin_model levin_model;
typedef struct levin_call levin_call;
typedef struct levin_session levin_session;

/* Makes the config's model on the CPU, with the weights of `weights` if that is not null: a checkpoint of levin or
 * PyTorch Lightning, .pt, .safetensors. */
LEVIN_API levin_status levin_model_create(const levin_config* config, const char* weights, levin_model** model);
/* Null is accepted. */
LEVIN_API void levin_model_destroy(levin_model* model);
/* Writes the weights: .pt, .pth, .bin for PyTorch, or .safetensors. */
LEVIN_API levin_status levin_model_save(levin_model* model, const char* path);

/* Describes the inputs and the outputs (of levin_model_run without a function) before any run. A model with an example
 * of its own gives that, with its data. Of others the config or the file tells: there is no data, a size of -1 may
 * differ from batch to batch, and the dtype or the rank (without a shape) is -1 where a TorchScript does not tell.
 * Refused for a plugin's class without an example, and if sizes come from a run's data. */
LEVIN_API levin_status levin_model_input_count(levin_model* model, size_t* count);
LEVIN_API levin_status levin_model_input(levin_model* model, size_t place, levin_array* array);
LEVIN_API levin_status levin_model_output_count(levin_model* model, size_t* count);
LEVIN_API levin_status levin_model_output(levin_model* model, size_t place, levin_array* array);

/* Evaluates the model, without gradients, and keeps the results for levin_model_result. `function`: null for
 * predict_step, or a name that the module exports, such as "forward". */
LEVIN_API levin_status levin_model_run(levin_model* model, const char* function, const levin_array* inputs,
                                       size_t count);
LEVIN_API levin_status levin_model_result_count(levin_model* model, size_t* count);
LEVIN_API levin_status levin_model_result(levin_model* model, size_t place, levin_array* array);

/* Parameters and buffers, by the order and the names of the state dict; the array is the weight itself. While a session
 * trains by fsdp, it is this rank's part of it, of one dimension; the other functions have the whole weights then, and
 * all ranks call them together. */
LEVIN_API levin_status levin_model_weight_count(levin_model* model, size_t* count);
LEVIN_API levin_status levin_model_weight(levin_model* model, size_t place, levin_array* array);
/* The number of elements of all floating-point weights together, and these one after another as float64 or float32
 * [elements]: what federated clients exchange. */
LEVIN_API levin_status levin_model_weights_size(levin_model* model, int64_t* elements);
LEVIN_API levin_status levin_model_get_weights(levin_model* model, const levin_array* flat);
LEVIN_API levin_status levin_model_set_weights(levin_model* model, const levin_array* flat);
/* Writes the mean of arrays of one shape, weighted by `weights` [count] (null: all alike), to `mean`, of real numbers.
 * One of the weight 0 does not count, whatever it holds. */
LEVIN_API levin_status levin_mean(const levin_array* arrays, const double* weights, size_t count,
                                  const levin_array* mean);

/* ---- a model as a differentiable function ---- */

enum {
  LEVIN_INPUT_GRADIENTS = 1, /* backward computes gradients with respect to the floating-point inputs */
  LEVIN_WEIGHT_GRADIENTS = 2 /* and with respect to the weights; in a session the step does that */
};

/* Evaluates the model in its mode, with what backward needs. `function`: null for "forward" if the module exports it,
 * else predict_step. The inputs are copied. */
LEVIN_API levin_status levin_model_call(levin_model* model, const char* function, const levin_array* inputs,
                                        size_t count, int32_t wanted, levin_call** call);
/* The same of a session's model, on the run's device and in its precision, in training mode: for
 * levin_session_step_calls and levin_session_step_loss. */
LEVIN_API levin_status levin_session_call(levin_session* session, const char* function, const levin_array* inputs,
                                          size_t count, int32_t wanted, levin_call** call);
LEVIN_API levin_status levin_call_output_count(levin_call* call, size_t* count);
LEVIN_API levin_status levin_call_output(levin_call* call, size_t place, levin_array* array);
/* Takes the gradients of the host's loss with respect to the outputs, in their order and of their shapes, and computes
 * what is wanted: the vector-Jacobian product. Once for each call. */
LEVIN_API levin_status levin_call_backward(levin_call* call, const levin_array* output_gradients, size_t count);
/* After backward: the gradient of the input at a place, in the order in which they were given; zeros for one that the
 * outputs do not depend on. Whole numbers have no data. Under 16-mixed they are computed in float16 as they are given:
 * scale output gradients that are smaller than 6e-8 yourself; those of the weights have the scale of the session. */
LEVIN_API levin_status levin_call_input_gradient_count(levin_call* call, size_t* count);
LEVIN_API levin_status levin_call_input_gradient(levin_call* call, size_t place, levin_array* array);
/* After backward: the gradient of the parameter at a place, with its name; no data for one that is not trained. */
LEVIN_API levin_status levin_call_weight_gradient_count(levin_call* call, size_t* count);
LEVIN_API levin_status levin_call_weight_gradient(levin_call* call, size_t place, levin_array* array);
LEVIN_API void levin_call_destroy(levin_call* call);

/* ---- training ---- */

/* Functions of the host are called in the thread that trains, with its `context`. A status other than LEVIN_OK ends the
 * call with LEVIN_FAILED. */
typedef struct levin_log_sink {
  size_t struct_size;
  void* context;
  /* Receives a metric that has a new value, before the call that set it returns. */
  void (*log)(void* context, const char* name, double value, int64_t step, int64_t epoch);
} levin_log_sink;

/* Ranks that the host has started, and how they exchange arrays: what ddp, zero1 and fsdp run over. levin_mpi.h makes
 * one of an MPI communicator; a host with another library fills it itself.
 *
 * Every rank begins the same operations in the same order. `begin` must not wait for other ranks: levin computes while
 * an operation is on its way, and calls `test` until it has ended, all in threads that call levin. */
enum {
  LEVIN_ALL_REDUCE = 0,
  LEVIN_BROADCAST = 1,
  LEVIN_ALL_GATHER = 2,
  LEVIN_REDUCE_SCATTER = 3,
  LEVIN_SEND = 4,
  LEVIN_RECEIVE = 5
};
enum { LEVIN_SUM = 0, LEVIN_MIN = 1, LEVIN_MAX = 2, LEVIN_PRODUCT = 3 };
typedef struct levin_operation {
  size_t struct_size;
  int32_t kind, reduction;
  levin_dtype dtype;
  const void* from; /* the same as `to` in an all-reduce or a broadcast in place */
  void* to;
  int64_t count;     /* elements: of a rank's part in an all-gather and a reduce-scatter */
  int32_t peer, tag; /* the root of a broadcast; the other rank of a send or a receive */
} levin_operation;
typedef struct levin_ranks levin_ranks;
struct levin_ranks {
  size_t struct_size;
  void* context;
  int32_t rank, size;             /* of this process */
  int32_t local_rank, local_size; /* among the ranks of this machine */
  int32_t node;                   /* number of this machine */
  levin_status (*begin)(void* context, const levin_operation* operation, void** request);
  /* Continues the operation without waiting; *ended 1: it has ended, and the request is used up. */
  levin_status (*test)(void* context, void* request, int32_t* ended);
  /* Makes ranks of some of these, by their numbers, of which this is one; these ranks call it together. */
  levin_status (*part)(void* context, const int32_t* ranks, int32_t count, levin_ranks* part);
  /* Ends the use of the context; all ranks call it, unless one has failed (`failed` 1). */
  void (*release)(void* context, int32_t failed);
  /* The text of the newest failure; null: none. */
  const char* (*error)(void* context);
};

typedef struct levin_session_options {
  size_t struct_size;
  const levin_config* config;
  levin_model* model;             /* trained in place of the config's; it stays usable. Null: the config's */
  const char* ckpt_path;          /* a checkpoint to resume from: a file, a run's folder, "last", "best"; null: none */
  int64_t batches_per_epoch;      /* for schedulers that need the number of all steps; 0: unknown */
  int32_t host_saves;             /* checkpoints wait for levin_session_save */
  const levin_log_sink* log_sink; /* null: none; copied */
  /* The ranks that train together, by the config's strategy (ddp unless it names one). Null: this process trains alone,
   * whoever has started it. The session releases them at its end, levin_session_start also if it fails. */
  const levin_ranks* ranks;
  void* cuda_stream;     /* a cudaStream_t of the host's that the calls that train run on; null: LibTorch's own */
  int32_t join_launcher; /* without `ranks`: those that torchrun, mpirun or srun has started train together */
} levin_session_options;

/* Begins a training whose batches the host hands over. All calls that train come from one thread. */
LEVIN_API levin_status levin_session_start(const levin_session_options* options, levin_session** session);
/* Ends the session, as levin_session_finish if that was not called. Null is accepted. */
LEVIN_API void levin_session_destroy(levin_session* session);

typedef struct levin_step_result {
  size_t struct_size;
  int32_t trained;     /* 0: training had ended, and the batch was not used */
  int32_t stepped;     /* the batch ended an accumulation window, and an optimizer was asked to step */
  int32_t skipped;     /* the optimizer did not step, since gradients were not finite */
  int32_t ended_epoch; /* the batch was the last of its epoch */
} levin_step_result;

/* Completes the newest batch, and says whether another one is wanted: not at a limit, not after a request to stop. */
LEVIN_API levin_status levin_session_next(levin_session* session, int32_t* wanted);
/* Trains one batch by the module's training_step: one micro-batch of the accumulation window. No array: an empty batch.
 * `result` may be null. */
LEVIN_API levin_status levin_session_step(levin_session* session, const levin_array* inputs, size_t count,
                                          levin_step_result* result);
/* Trains on the host's own loss: the gradients that levin_call_backward was given reach the weights. `loss` is its
 * value, for logs and the watch on NaN. Each call belongs to this session and has had its backward; it is used up. */
LEVIN_API levin_status levin_session_step_calls(levin_session* session, double loss, levin_call* const* calls,
                                                size_t count, levin_step_result* result);
/* The same with the calls made inside of the step, in `function`: needed by strategies that gather weights for a step
 * (fsdp), and by optimizers that evaluate the loss several times (LBFGS). The function writes the loss to *loss; the
 * calls that it makes by levin_session_call belong to the step. */
typedef levin_status (*levin_loss_function)(void* context, levin_session* session, double* loss);
LEVIN_API levin_status levin_session_step_loss(levin_session* session, levin_loss_function function, void* context,
                                               levin_step_result* result);
/* Reads the newest step's loss; it waits for the device. NaN if the step had none. */
LEVIN_API levin_status levin_session_loss(levin_session* session, double* loss);
/* Ends the epoch after the newest batch. */
LEVIN_API levin_status levin_session_end_epoch(levin_session* session);
/* Logs a value of the newest step. */
LEVIN_API levin_status levin_session_log(levin_session* session, const char* name, double value);

/* Saves the checkpoints that are due, and one at `path` unless it is null. Relative: below the run's `checkpoints`. The
 * file is written while the host continues; it is there when levin_session_finish has returned, at the latest. */
LEVIN_API levin_status levin_session_save(levin_session* session, const char* path);
LEVIN_API levin_status levin_session_due_to_save(levin_session* session, int32_t* due);
/* Adds bytes of the host's to each checkpoint. `save` calls levin_state_write; in a resumed session `load` is called at
 * once with what was saved, if there is something. Call it before the first step. */
typedef struct levin_state_writer levin_state_writer;
typedef struct levin_host_state {
  size_t struct_size;
  void* context;
  levin_status (*save)(void* context, levin_state_writer* writer);
  levin_status (*load)(void* context, const void* bytes, size_t size);
} levin_host_state;
LEVIN_API levin_status levin_session_register_state(levin_session* session, const char* name,
                                                    const levin_host_state* state);
LEVIN_API levin_status levin_state_write(levin_state_writer* writer, const void* bytes, size_t size);

/* Learning rate of an optimizer's parameter group, 0 and 0 for the first. */
LEVIN_API levin_status levin_session_rate(levin_session* session, int32_t optimizer, int32_t group, double* rate);
LEVIN_API levin_status levin_session_set_rate(levin_session* session, int32_t optimizer, double rate);
/* The model that is trained; destroy it as any other. Its weights may be read and set between steps. */
LEVIN_API levin_status levin_session_model(levin_session* session, levin_model** model);

/* Batches pulled by levin. `next` fills at most `capacity` arrays and their number; 0: the epoch is over. The arrays
 * are copied before the next call. */
typedef struct levin_source {
  size_t struct_size;
  void* context;
  levin_status (*next)(void* context, int64_t epoch, int64_t batch, levin_array* arrays, size_t capacity,
                       size_t* count);
} levin_source;
/* Runs the module's validation_step over one epoch of a source. The metrics are then those of levin_session_metric. */
LEVIN_API levin_status levin_session_validate(levin_session* session, const levin_source* source);

typedef struct levin_result {
  size_t struct_size;
  int32_t stopped; /* something asked the run to end early */
  int64_t epochs, steps, batches;
  int64_t non_finite_step; /* the first step whose loss was NaN or infinite; -1: none */
  double seconds;
} levin_result;
/* Trains until the session is over, on epochs of a source: what `levin fit` does with a loader. Once in a session,
 * before its first step. Validation may be null; it comes after each epoch, or as the config's check_val_every_n_epoch
 * and val_check_interval say. Requests from other threads and levin_session_finish are as with single steps. */
LEVIN_API levin_status levin_session_fit(levin_session* session, const levin_source* train,
                                         const levin_source* validation);
/* Ends the training: the epoch, checkpoints, weights.pt and summary.json if there is a run folder. `result` may be
 * null. */
LEVIN_API levin_status levin_session_finish(levin_session* session, levin_result* result);

/* ---- of a session, from any thread ---- */

typedef struct levin_session_state {
  size_t struct_size;
  int64_t epoch, step, batches, samples;
  double seconds;
  int32_t is_paused, is_over;
} levin_session_state;
LEVIN_API levin_status levin_session_get_state(levin_session* session, levin_session_state* state);
/* The newest value of a logged metric, as of the last log point. Refused if there is none of this name. */
LEVIN_API levin_status levin_session_metric(levin_session* session, const char* name, double* value);
/* The names of all metrics, one a line, as levin_error's text lives: until the thread's next call of this function. */
LEVIN_API levin_status levin_session_metrics(levin_session* session, const char** names);
LEVIN_API levin_status levin_session_warnings(levin_session* session, const char** lines);
LEVIN_API levin_status levin_session_request_stop(levin_session* session, const char* reason);
LEVIN_API levin_status levin_session_request_save(levin_session* session, const char* path);
/* Makes the next step wait: until levin_session_resume, a request to stop, or the session's end, after which it is
 * refused. */
LEVIN_API levin_status levin_session_pause(levin_session* session);
LEVIN_API levin_status levin_session_resume(levin_session* session);

/* ---- inference while a session trains ---- */

/* Copies the weights for readers; the training thread calls it. */
LEVIN_API levin_status levin_session_publish(levin_session* session);

/* A copy of the session's model for one thread, with the published weights. Any number of readers run at once; none
 * waits for the training, nor the training for them. A reader may outlive the session. */
typedef struct levin_reader levin_reader;
LEVIN_API levin_status levin_reader_create(levin_session* session, levin_reader** reader);
/* Takes the newest published weights; *step: the optimizer steps after which they were copied, -1 before the first. */
LEVIN_API levin_status levin_reader_update(levin_reader* reader, int64_t* step);
/* As levin_model_run and levin_model_result. */
LEVIN_API levin_status levin_reader_run(levin_reader* reader, const char* function, const levin_array* inputs,
                                        size_t count);
LEVIN_API levin_status levin_reader_result_count(levin_reader* reader, size_t* count);
LEVIN_API levin_status levin_reader_result(levin_reader* reader, size_t place, levin_array* array);
LEVIN_API void levin_reader_destroy(levin_reader* reader);

/* ---- replay and rollout buffers; any thread. What was drawn lasts until the next draw from the same buffer. ---- */

typedef struct levin_replay levin_replay;
typedef struct levin_replay_options {
  size_t struct_size;
  int64_t capacity; /* 0: 100,000 */
  int64_t n_step;   /* 0: 1 */
  double gamma;     /* 0: 0.99 */
  int32_t prioritized;
  double alpha, beta; /* 0: 0.6 and 0.4 */
  int64_t seed;
} levin_replay_options;
LEVIN_API levin_status levin_replay_create(const levin_replay_options* options, levin_replay** replay);
LEVIN_API void levin_replay_destroy(levin_replay* replay);
/* Adds transitions, arrays [count, ...] with names; row i is of stream first_stream + i. */
LEVIN_API levin_status levin_replay_add(levin_replay* replay, const levin_array* transitions, size_t count,
                                        int64_t first_stream);
LEVIN_API levin_status levin_replay_size(levin_replay* replay, int64_t* size);
/* Draws transitions, for levin_replay_drawn: the arrays that were added, then "indices", "weights" and "discounts". */
LEVIN_API levin_status levin_replay_sample(levin_replay* replay, int64_t count);
LEVIN_API levin_status levin_replay_drawn_count(levin_replay* replay, size_t* count);
LEVIN_API levin_status levin_replay_drawn(levin_replay* replay, size_t place, levin_array* array);
LEVIN_API levin_status levin_replay_set_priorities(levin_replay* replay, const levin_array* indices,
                                                   const levin_array* priorities);
/* Makes the buffer a part of the session's checkpoints. Call it before the first step. */
LEVIN_API levin_status levin_session_register_replay(levin_session* session, const char* name, levin_replay* replay);

typedef struct levin_rollout levin_rollout;
typedef struct levin_rollout_options {
  size_t struct_size;
  int64_t steps, environments, batch_size, passes; /* 0: 128, 1, 64, 10 */
  double gamma, gae_lambda;                        /* 0: 0.99 and 0.95 */
  int32_t keep_advantages;                         /* not normalized */
  int64_t seed;
} levin_rollout_options;
LEVIN_API levin_status levin_rollout_create(const levin_rollout_options* options, levin_rollout** rollout);
LEVIN_API void levin_rollout_destroy(levin_rollout* rollout);
/* Adds one step of the environments first_environment, ...: arrays [count, ...], with reward, value and terminated. */
LEVIN_API levin_status levin_rollout_add(levin_rollout* rollout, const levin_array* steps, size_t count,
                                         int64_t first_environment);
LEVIN_API levin_status levin_rollout_is_full(levin_rollout* rollout, int32_t* full);
/* Computes advantages and returns; last_values [environments]: the critic's estimates of what follows. */
LEVIN_API levin_status levin_rollout_finish(levin_rollout* rollout, const levin_array* last_values);
/* Draws the next minibatch, for levin_rollout_drawn: what was added, "advantages" and "returns". *drawn 0: none is
 * left, and the buffer takes steps again. */
LEVIN_API levin_status levin_rollout_next(levin_rollout* rollout, int32_t* drawn);
LEVIN_API levin_status levin_rollout_drawn_count(levin_rollout* rollout, size_t* count);
LEVIN_API levin_status levin_rollout_drawn(levin_rollout* rollout, size_t place, levin_array* array);
LEVIN_API levin_status levin_session_register_rollout(levin_session* session, const char* name, levin_rollout* rollout);

#ifdef __cplusplus
}
#endif

#endif
