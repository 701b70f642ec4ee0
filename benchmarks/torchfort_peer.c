/* A training step through a C interface: NVIDIA's TorchFort, or with -DLEVIN levin, on the same network and data.
 *
 *   torchfort_peer step STEPS [NETWORK]  trains; prints microseconds per step, also of CPU time, and losses as JSON
 *   torchfort_peer accumulate            prints what the gradient of 4 accumulated micro-batches amounts to, as JSON
 *
 * The network maps 8 numbers over two hidden layers of 64 with ReLU to 1; MSE, Adam, batches of 32, float32. NETWORK
 * has its initial weights: a TorchScript file for TorchFort, a state dict for levin; torchfort.py makes both. Without
 * it TorchFort trains its own `mlp`, which has one more bias in each hidden layer, and a dropout.
 *
 * `accumulate` makes one step of SGD, whose learning rate is 1, on a linear model: once with 4 micro-batches, once with
 * the same 128 samples as one batch. It prints the ratio of the changes for each weight, least and largest: 1 says that
 * the gradient is the mean of those of the micro-batches, 4 that it is their sum.
 *
 * TorchFort needs MPI and yaml-cpp, whose static library may be unfit for a shared one. TORCH is the folder of the
 * Python package:
 *
 *   cmake -S TORCHFORT -B BUILD -DCMAKE_BUILD_TYPE=Release -DTORCHFORT_ENABLE_GPU=OFF -DTORCHFORT_BUILD_FORTRAN=OFF \
 *     -DTORCHFORT_YAML_CPP_ROOT=/usr -DYAML_CPP_LIBRARY=FOLDER/libyaml-cpp.so -DCMAKE_PREFIX_PATH=TORCH
 *   cmake --build BUILD --target torchfort
 *   cc -std=c99 -O2 benchmarks/torchfort_peer.c -o torchfort_peer -LBUILD/lib -ltorchfort -lm \
 *     -Wl,-rpath,BUILD/lib -Wl,-rpath-link,TORCH/lib
 *   cc -std=c99 -O2 -DLEVIN -Iinclude benchmarks/torchfort_peer.c -o levin_peer -LLEVIN_BUILD/lib -llevin_c -lm \
 *     -Wl,-rpath,LEVIN_BUILD/lib -Wl,-rpath-link,TORCH/lib
 *
 * Set OMP_NUM_THREADS=1. */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FEATURES 8
#define BATCH 32
#define BATCHES 64
#define MICRO_BATCHES 4

/* What is trained. */
typedef struct task {
  int is_linear;           /* the linear model with SGD; else the network with Adam */
  int accumulated_batches; /* before each step of the optimizer */
  const char* network;     /* file with initial weights; null: random ones */
} task;

#ifdef LEVIN

#include <levin/c_api.h>

static levin_session* session;

static void check(levin_status status) {
  if (status == LEVIN_OK) return;
  fprintf(stderr, "status %d: %s\n", (int)status, levin_error());
  exit(1);
}

static void begin(const task* todo) {
  levin_config config = LEVIN_INIT(levin_config);
  levin_session_options options = LEVIN_INIT(levin_session_options);
  char text[8192];
  snprintf(text, sizeof text,
           "{\"seed\": 1, \"trainer\": {\"accelerator\": \"cpu\", \"max_epochs\": -1, \"accumulate_grad_batches\": %d},"
           " \"model\": {\"class\": \"MLPRegressor\", \"features\": %d, \"hidden\": %s, \"weights\": \"%s\","
           " \"optimizer\": %s}}",
           todo->accumulated_batches, FEATURES, todo->is_linear ? "[]" : "[64, 64]",
           todo->network != NULL ? todo->network : "",
           todo->is_linear ? "{\"class\": \"SGD\", \"lr\": 1}" : "{\"class\": \"Adam\", \"lr\": 0.001}");
  config.text = text;
  options.config = &config;
  check(levin_session_start(&options, &session));
}

static void describe(levin_array* array, float* data, const int64_t* shape) {
  *array = (levin_array)LEVIN_INIT(levin_array);
  array->data = data;
  array->dtype = LEVIN_FLOAT32;
  array->rank = 2;
  array->shape = shape;
}

/* Returns the loss, as torchfort_train does. */
static float train(float* input, float* target, int64_t samples) {
  const int64_t input_shape[] = {samples, FEATURES}, target_shape[] = {samples, 1};
  levin_array arrays[2];
  int32_t wanted = 0;
  double loss = 0;
  describe(&arrays[0], input, input_shape);
  describe(&arrays[1], target, target_shape);
  check(levin_session_next(session, &wanted));
  check(levin_session_step(session, arrays, 2, NULL));
  check(levin_session_loss(session, &loss));
  return (float)loss;
}

static void predict(float* input, float* output, int64_t samples) {
  const int64_t input_shape[] = {samples, FEATURES}, output_shape[] = {samples, 1};
  levin_array array, result = LEVIN_INIT(levin_array);
  levin_model* model = NULL;
  check(levin_session_model(session, &model));
  describe(&array, input, input_shape);
  check(levin_model_run(model, NULL, &array, 1));
  check(levin_model_result(model, 0, &result));
  describe(&array, output, output_shape);
  check(levin_array_copy(&result, &array));
  levin_model_destroy(model);
}

static void end(void) { levin_session_destroy(session); }

#else

/* These are the functions of torchfort.h that are used. That header is C++: it has references, and types that are
 * enums without a typedef. */
enum { TORCHFORT_DEVICE_CPU = -1, TORCHFORT_FLOAT = -1 };
int torchfort_set_manual_seed(int seed);
int torchfort_create_model(const char* name, const char* config_file, int device);
int torchfort_train(const char* name, void* input, size_t input_rank, int64_t* input_shape, void* label,
                    size_t label_rank, int64_t* label_shape, void* loss, int dtype, void* stream);
int torchfort_inference(const char* name, void* input, size_t input_rank, int64_t* input_shape, void* output,
                        size_t output_rank, int64_t* output_shape, int dtype, void* stream);

static const char* name;

static void check(int result) {
  if (result == 0) return;
  fprintf(stderr, "result %d\n", result);
  exit(1);
}

static void begin(const task* todo) {
  static const char* const names[] = {"first", "second"}; /* TorchFort keeps models until the process ends */
  static int made = 0;
  char file[] = "/tmp/torchfort_XXXXXX";
  const int descriptor = mkstemp(file);
  FILE* const config = descriptor < 0 ? NULL : fdopen(descriptor, "w");
  if (config == NULL) {
    fprintf(stderr, "there is no temporary file\n");
    exit(1);
  }
  if (todo->network != NULL)
    fprintf(config, "model:\n  type: torchscript\n  parameters:\n    filename: %s\n", todo->network);
  else
    fprintf(config, "model:\n  type: mlp\n  parameters:\n    dropout: 0.0\n    layer_sizes: %s\n",
            todo->is_linear ? "[8, 1]" : "[8, 64, 64, 1]");
  fprintf(config, "loss:\n  type: MSE\noptimizer:\n  type: %s\n  parameters:\n    learning_rate: %s\n",
          todo->is_linear ? "sgd" : "adam", todo->is_linear ? "1.0" : "1e-3");
  fprintf(config, "  general:\n    grad_accumulation_steps: %d\n", todo->accumulated_batches);
  fclose(config);
  name = names[made++];
  check(torchfort_set_manual_seed(1));
  check(torchfort_create_model(name, file, TORCHFORT_DEVICE_CPU));
  unlink(file);
}

static float train(float* input, float* target, int64_t samples) {
  int64_t input_shape[] = {samples, FEATURES}, target_shape[] = {samples, 1};
  float loss = 0;
  check(torchfort_train(name, input, 2, input_shape, target, 2, target_shape, &loss, TORCHFORT_FLOAT, NULL));
  return loss;
}

static void predict(float* input, float* output, int64_t samples) {
  int64_t input_shape[] = {samples, FEATURES}, output_shape[] = {samples, 1};
  check(torchfort_inference(name, input, 2, input_shape, output, 2, output_shape, TORCHFORT_FLOAT, NULL));
}

static void end(void) {}

#endif

static float inputs[BATCHES][BATCH][FEATURES], targets[BATCHES][BATCH];

/* Fills the samples with the same numbers in every process. */
static void make_samples(void) {
  uint32_t state = 1;
  int batch, sample, i;
  for (batch = 0; batch < BATCHES; ++batch)
    for (sample = 0; sample < BATCH; ++sample) {
      double sum = 0;
      for (i = 0; i < FEATURES; ++i) {
        state = state * 1664525u + 1013904223u;
        inputs[batch][sample][i] = (float)((state >> 8) / 8388608.0 - 1);
        sum += sin(3 * inputs[batch][sample][i] + i);
      }
      targets[batch][sample] = (float)sum;
    }
}

static double microseconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Trains; the first quarter of the steps is not timed. */
static void measure_steps(long steps, const char* network) {
  const task todo = {0, 1, network};
  const long timed = steps - steps / 4;
  double began = 0, cpu_began = 0, passed, cpu_passed, last_mean = 0;
  float first = 0, loss = 0;
  long step;
  begin(&todo);
  for (step = 0; step < steps; ++step) {
    if (step == steps / 4) {
      began = microseconds(CLOCK_MONOTONIC);
      cpu_began = microseconds(CLOCK_PROCESS_CPUTIME_ID);
    }
    loss = train(&inputs[step % BATCHES][0][0], targets[step % BATCHES], BATCH);
    if (step == 0) first = loss;
    if (step >= steps - BATCHES) last_mean += loss / (double)(steps < BATCHES ? steps : BATCHES);
  }
  passed = microseconds(CLOCK_MONOTONIC) - began;
  cpu_passed = microseconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_began;
  end();
  printf(
      "{\"us_per_step\": %.3f, \"cpu_us_per_step\": %.3f, \"first_loss\": %.9g, \"last_loss\": %.9g, "
      "\"mean_of_last_losses\": %.9g}\n",
      passed / (double)timed, cpu_passed / (double)timed, first, loss, last_mean);
}

/* Reads the weights and the bias of the linear model by what it predicts. */
static void read_weights(float* weights) {
  float probes[FEATURES + 1][FEATURES];
  int i;
  memset(probes, 0, sizeof probes);
  for (i = 0; i < FEATURES; ++i) probes[i][i] = 1;
  predict(&probes[0][0], weights, FEATURES + 1);
  for (i = 0; i < FEATURES; ++i) weights[i] -= weights[FEATURES];
}

/* Makes one step of the optimizer on the same 128 samples, in so many micro-batches; returns the changes. */
static void step_linear_model(int micro_batches, float* changes) {
  const task todo = {1, micro_batches, NULL};
  const int samples = MICRO_BATCHES * BATCH / micro_batches;
  float before[FEATURES + 1];
  int i;
  begin(&todo);
  read_weights(before);
  for (i = 0; i < micro_batches; ++i)
    train(&inputs[0][0][0] + i * samples * FEATURES, &targets[0][0] + i * samples, samples);
  read_weights(changes);
  for (i = 0; i <= FEATURES; ++i) changes[i] -= before[i];
  end();
}

static void measure_accumulation(void) {
  float accumulated[FEATURES + 1], together[FEATURES + 1];
  double least = INFINITY, largest = -INFINITY;
  int i;
  step_linear_model(MICRO_BATCHES, accumulated);
  step_linear_model(1, together);
  for (i = 0; i <= FEATURES; ++i) {
    const double ratio = (double)accumulated[i] / together[i];
    least = fmin(least, ratio);
    largest = fmax(largest, ratio);
  }
  printf("{\"micro_batches\": %d, \"least_ratio\": %.6f, \"largest_ratio\": %.6f}\n", MICRO_BATCHES, least, largest);
}

int main(int argc, char** argv) {
  make_samples();
  if (argc >= 3 && strcmp(argv[1], "step") == 0 && atol(argv[2]) > 0)
    measure_steps(atol(argv[2]), argc > 3 ? argv[3] : NULL);
  else if (argc == 2 && strcmp(argv[1], "accumulate") == 0)
    measure_accumulation();
  else
    return 2;
  return 0;
}
