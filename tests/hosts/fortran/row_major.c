/* Trains and evaluates through the C interface with row-major arrays: what fortran_test.f90 compares itself with. */
#include <levin/c_api.h>

#include <stdio.h>
#include <stdlib.h>

enum { FEATURES = 3, OUTPUTS = 2, SAMPLES = 8 };

static void check(levin_status status, const char* what) {
  if (status == LEVIN_OK) return;
  fprintf(stderr, "row_major.c: %s: %s\n", what, levin_error());
  exit(1);
}

static levin_array array_of(void* data, levin_dtype dtype, int32_t rank, const int64_t* shape) {
  levin_array array = LEVIN_INIT(levin_array);
  array.data = data;
  array.dtype = dtype;
  array.rank = rank;
  array.shape = shape;
  return array;
}

/* Copies the weights of a session's model to `flat`, float64. */
static void read_weights(levin_session* session, double* flat, int64_t size) {
  levin_model* model = NULL;
  const levin_array array = array_of(flat, LEVIN_FLOAT64, 1, &size);
  check(levin_session_model(session, &model), "model");
  check(levin_model_get_weights(model, &array), "weights");
  levin_model_destroy(model);
}

static levin_session* start(const char* config_text) {
  levin_config config = LEVIN_INIT(levin_config);
  levin_session_options options = LEVIN_INIT(levin_session_options);
  levin_session* session = NULL;
  config.text = config_text;
  options.config = &config;
  check(levin_session_start(&options, &session), "start");
  return session;
}

/* The batches of fortran_test.f90, exact in binary: sample and entry count from 0. */
static double input_at(int step, int sample, int entry) { return ((step * 7 + sample * 3 + entry * 5) % 11 - 5) / 8.0; }
static double target_at(int step, int sample, int entry) { return ((step * 5 + sample * 2 + entry * 3) % 7 - 3) / 4.0; }

/* Regression: the weights after `steps` steps. */
void row_major_regression(const char* config, int32_t steps, double* flat, int64_t size) {
  static double input[SAMPLES][FEATURES], target[SAMPLES][OUTPUTS];
  static const int64_t input_shape[] = {SAMPLES, FEATURES}, target_shape[] = {SAMPLES, OUTPUTS};
  const levin_array arrays[] = {array_of(input, LEVIN_FLOAT64, 2, input_shape),
                                array_of(target, LEVIN_FLOAT64, 2, target_shape)};
  levin_session* session = start(config);
  int32_t step = 0, wanted = 0;
  int i = 0, j = 0;
  for (step = 0; step < steps; ++step) {
    for (i = 0; i < SAMPLES; ++i) {
      for (j = 0; j < FEATURES; ++j) input[i][j] = input_at(step, i, j);
      for (j = 0; j < OUTPUTS; ++j) target[i][j] = target_at(step, i, j);
    }
    check(levin_session_next(session, &wanted), "next");
    check(levin_session_step(session, arrays, 2, NULL), "step");
  }
  check(levin_session_next(session, &wanted), "next");
  read_weights(session, flat, size);
  levin_session_destroy(session);
}

/* Classification with categories: named arrays, and integers of 8 bytes. */
void row_major_classes(const char* config, int32_t steps, double* flat, int64_t size) {
  static float input[SAMPLES][FEATURES];
  static int64_t category[SAMPLES][2], target[SAMPLES];
  static const int64_t input_shape[] = {SAMPLES, FEATURES}, category_shape[] = {SAMPLES, 2}, target_shape[] = {SAMPLES};
  levin_array arrays[] = {array_of(input, LEVIN_FLOAT32, 2, input_shape),
                          array_of(category, LEVIN_INT64, 2, category_shape),
                          array_of(target, LEVIN_INT64, 1, target_shape)};
  levin_session* session = start(config);
  int32_t step = 0, wanted = 0;
  int i = 0, j = 0;
  arrays[0].name = "input";
  arrays[1].name = "category";
  arrays[2].name = "target";
  for (step = 0; step < steps; ++step) {
    for (i = 0; i < SAMPLES; ++i) {
      for (j = 0; j < FEATURES; ++j) input[i][j] = (float)input_at(step, i, j);
      for (j = 0; j < 2; ++j) category[i][j] = (step + i + j) % 4;
      target[i] = (step + i) % 3;
    }
    check(levin_session_next(session, &wanted), "next");
    check(levin_session_step(session, arrays, 3, NULL), "step");
  }
  check(levin_session_next(session, &wanted), "next");
  read_weights(session, flat, size);
  levin_session_destroy(session);
}

/* Calls the deleter of a tensor of DLPack, as another library does. */
void delete_dlpack(struct DLManagedTensor* tensor) {
  struct managed { /* the struct of dlpack.h, whose first part has 48 bytes */
    char tensor[48];
    void* context;
    void (*deleter)(struct DLManagedTensor*);
  };
  ((struct managed*)tensor)->deleter(tensor);
}
