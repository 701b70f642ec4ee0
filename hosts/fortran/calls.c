/* Structs of the C interface are filled and read for the module `levin`. */
#include "descriptor.h"

#include <stdlib.h>
#include <string.h>

/* ---- the arrays that levin has; numbers as in levin_kept.f90 ---- */

enum {
  RESULT = 1,
  WEIGHT = 2,
  CALL_OUTPUT = 3,
  INPUT_GRADIENT = 4,
  WEIGHT_GRADIENT = 5,
  MODEL_INPUT = 6,
  MODEL_OUTPUT = 7,
  DRAWN = 8
};

static levin_status get(int32_t what, void* handle, size_t place, levin_array* array) {
  switch (what) {
    case RESULT:
      return levin_fortran_kind(handle) == READER ? levin_reader_result(handle, place, array)
                                                  : levin_model_result(handle, place, array);
    case WEIGHT:
      return levin_model_weight(handle, place, array);
    case MODEL_INPUT:
      return levin_model_input(handle, place, array);
    case MODEL_OUTPUT:
      return levin_model_output(handle, place, array);
    case DRAWN:
      return levin_fortran_kind(handle) == ROLLOUT ? levin_rollout_drawn(handle, place, array)
                                                   : levin_replay_drawn(handle, place, array);
    case CALL_OUTPUT:
      return levin_call_output(handle, place, array);
    case INPUT_GRADIENT:
      return levin_call_input_gradient(handle, place, array);
    default:
      return levin_call_weight_gradient(handle, place, array);
  }
}

levin_status levin_fortran_count(int32_t what, void* handle, size_t* count) {
  *count = 0;
  switch (what) {
    case RESULT:
      return levin_fortran_kind(handle) == READER ? levin_reader_result_count(handle, count)
                                                  : levin_model_result_count(handle, count);
    case WEIGHT:
      return levin_model_weight_count(handle, count);
    case MODEL_INPUT:
      return levin_model_input_count(handle, count);
    case MODEL_OUTPUT:
      return levin_model_output_count(handle, count);
    case DRAWN:
      return levin_fortran_kind(handle) == ROLLOUT ? levin_rollout_drawn_count(handle, count)
                                                   : levin_replay_drawn_count(handle, count);
    case CALL_OUTPUT:
      return levin_call_output_count(handle, count);
    case INPUT_GRADIENT:
      return levin_call_input_gradient_count(handle, count);
    default:
      return levin_call_weight_gradient_count(handle, count);
  }
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
  const int32_t reason = levin_fortran_describe_array(&array, to);
  if (array.owner == NULL && (what == MODEL_INPUT || what == MODEL_OUTPUT)) to->is_absent = ONLY_DESCRIBED;
  return reason;
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

typedef void (*log_function)(void* context, const char* name, double value, int64_t step, int64_t epoch);

/* A null `sink`: none; else it is freed after the session's end. */
levin_status levin_fortran_start(const char* file, const char* text, const char* options, size_t option_count,
                                 const char* plugins, size_t plugin_count, void* model, const char* ckpt_path,
                                 int64_t batches_per_epoch, int32_t host_saves, int32_t join_launcher,
                                 const void* ranks, void* cuda_stream, log_function give_metric, void* sink,
                                 void (*free_sink)(void*), void** session) {
  levin_config config;
  levin_session_options asked = LEVIN_INIT(levin_session_options);
  levin_log_sink log_sink = LEVIN_INIT(levin_log_sink);
  levin_session* made = NULL;
  levin_status status = read_config(file, text, options, option_count, plugins, plugin_count, &config);
  asked.config = &config;
  asked.model = model;
  asked.ckpt_path = ckpt_path;
  asked.batches_per_epoch = batches_per_epoch;
  asked.host_saves = host_saves;
  asked.join_launcher = join_launcher;
  asked.ranks = (const levin_ranks*)ranks;
  asked.cuda_stream = cuda_stream;
  log_sink.context = sink;
  log_sink.log = give_metric;
  if (sink != NULL) asked.log_sink = &log_sink;
  if (status == LEVIN_OK) status = levin_session_start(&asked, &made);
  free_config(&config);
  *session = made;
  levin_fortran_hold(SESSION, made);
  if (sink != NULL && !levin_fortran_keep(made, sink, free_sink)) free_sink(sink);
  return status;
}

levin_status levin_fortran_run(void* handle, const char* function, const described* inputs, size_t count) {
  arrays_of_call arrays;
  levin_status status = LEVIN_OK;
  if (!levin_fortran_begin_arrays(&arrays, inputs, count)) return NO_MEMORY_LEFT;
  if (levin_fortran_kind(handle) == READER) {
    status = levin_reader_run(handle, function, arrays.all, count);
  } else {
    status = levin_model_run(handle, function, arrays.all, count);
  }
  levin_fortran_end_arrays(&arrays);
  return status;
}

levin_status levin_fortran_forward(void* handle, const char* function, const described* inputs, size_t count,
                                   int32_t wanted, void** call) {
  arrays_of_call arrays;
  levin_status status = LEVIN_OK;
  levin_call* made = NULL;
  *call = NULL;
  if (!levin_fortran_begin_arrays(&arrays, inputs, count)) return NO_MEMORY_LEFT;
  if (levin_fortran_kind(handle) == SESSION) {
    status = levin_session_call(handle, function, arrays.all, count, wanted, &made);
  } else {
    status = levin_model_call(handle, function, arrays.all, count, wanted, &made);
  }
  levin_fortran_end_arrays(&arrays);
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
    if (!levin_fortran_begin_arrays(&arrays, gradients, count)) return NO_MEMORY_LEFT;
    status = levin_call_backward(call, arrays.all, count);
    levin_fortran_end_arrays(&arrays);
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
      all[place] = levin_fortran_array(&gradients[i]);
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
  if (!levin_fortran_begin_arrays(&arrays, inputs, count)) return NO_MEMORY_LEFT;
  const levin_status status = levin_session_step(session, arrays.all, count, &result);
  levin_fortran_end_arrays(&arrays);
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
  const levin_array array = levin_fortran_array(flat);
  return is_set ? levin_model_set_weights(model, &array) : levin_model_get_weights(model, &array);
}

levin_status levin_fortran_device_name(int32_t place, char* name, size_t size) {
  levin_device device = LEVIN_INIT(levin_device);
  const levin_status status = levin_device_info(place, &device);
  name[0] = 0;
  if (status == LEVIN_OK) strncat(name, device.name, size - 1);
  return status;
}

levin_status levin_fortran_mean(const described* arrays, size_t count, const double* weights, const described* mean) {
  arrays_of_call all;
  const levin_array target = levin_fortran_array(mean);
  if (!levin_fortran_begin_arrays(&all, arrays, count)) return NO_MEMORY_LEFT;
  const levin_status status = levin_mean(all.all, weights, count, &target);
  levin_fortran_end_arrays(&all);
  return status;
}
