/* A host under mpirun: its ranks train together, over its own communicator or as levin joins the launcher's ranks.
 *
 *   mpi_run OVER STRATEGY STEPS FOLDER [MODE]
 *
 * OVER: mpi, launcher (through memory that ranks of one machine share), gloo (of the launcher's ranks). MODE: plain;
 * subset (rank 1 does not train, and solves meanwhile); save (a checkpoint every 5 steps, and a start from the newest
 * one); time (prints microseconds a step); hang (rank 1 stops coming); thread, multiple (trains in another thread than
 * that of MPI_Init, with FUNNELED and MULTIPLE); single, uninitialised (what must be refused); weights (the model is
 * read, set, evaluated and published between steps, and its results are printed); absent (rank 1 starts no session);
 * refused (a start fails, and its ranks are given back once more); finalised, finalised-multiple (MPI_Finalize comes
 * before the session's end). At the end the checkpoint FOLDER/end.ckpt is written, and MPI must be as the host had it.
 */
#include <levin/levin_mpi.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH 8
#define FEATURES 4

static const char *over, *strategy, *folder, *mode;
static int steps;

static int is_mode(const char* name) { return strcmp(mode, name) == 0; }

static int is_finalised_early(void) { return is_mode("finalised") || is_mode("finalised-multiple"); }

static void check(levin_status status, const char* what) {
  if (status == LEVIN_OK) return;
  fprintf(stderr, "%s: status %d: %s\n", what, (int)status, levin_error());
  fflush(stderr);
  _exit(3);
}

static void set_array(levin_array* array, double* data, const int64_t* shape, int32_t rank) {
  levin_array made = LEVIN_INIT(levin_array);
  made.data = data;
  made.dtype = LEVIN_FLOAT64;
  made.rank = rank;
  made.shape = shape;
  *array = made;
}

/* The last finished checkpoint; empty if there is none. */
static void find_checkpoint(char* path, size_t size) {
  int step;
  for (step = steps; step >= 5; --step) {
    snprintf(path, size, "%s/step%d.ckpt", folder, step);
    if (access(path, R_OK) == 0) return;
  }
  path[0] = '\0';
}

/* Prints what the model returns for an input of ones. */
static void print_result(const char* name, const levin_array* result) {
  double values[2] = {0, 0};
  levin_array to;
  set_array(&to, values, result->shape, 2);
  check(levin_array_copy(result, &to), "copy");
  printf("%s %.12f %.12f\n", name, values[0], values[1]);
}

/* Uses the model between two steps, when a strategy may have divided it. */
static void use_weights(levin_session* session) {
  static const int64_t input_shape[] = {1, FEATURES};
  double ones[FEATURES] = {1, 1, 1, 1}, *flat, gradient[2] = {1, 1};
  int64_t size = 0, place, step = 0;
  char path[512];
  levin_model *model = NULL, *read = NULL;
  levin_reader* reader = NULL;
  levin_call* call = NULL;
  levin_config config = LEVIN_INIT(levin_config);
  levin_array input, array, result = LEVIN_INIT(levin_array);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  set_array(&input, ones, input_shape, 2);
  check(levin_session_model(session, &model), "model");
  check(levin_model_weights_size(model, &size), "size");
  flat = (double*)malloc((size_t)size * sizeof *flat);
  set_array(&array, flat, &size, 1);
  check(levin_model_get_weights(model, &array), "get");
  for (place = 0; place < size; ++place) flat[place] *= 0.5;
  check(levin_model_set_weights(model, &array), "set");
  free(flat);
  check(levin_model_run(model, NULL, &input, 1), "run");
  check(levin_model_result(model, 0, &result), "result");
  print_result("run", &result);
  check(levin_session_publish(session), "publish");
  check(levin_reader_create(session, &reader), "reader");
  check(levin_reader_update(reader, &step), "update");
  check(levin_reader_run(reader, NULL, &input, 1), "reader's run");
  check(levin_reader_result(reader, 0, &result), "reader's result");
  print_result("reader", &result);
  levin_reader_destroy(reader);
  check(levin_model_call(model, NULL, &input, 1, LEVIN_INPUT_GRADIENTS, &call), "call");
  check(levin_call_output(call, 0, &result), "output");
  set_array(&array, gradient, result.shape, 2);
  check(levin_call_backward(call, &array, 1), "backward");
  check(levin_call_input_gradient(call, 0, &result), "gradient");
  printf("gradient %.12f\n", ((const double*)result.data)[0]);
  levin_call_destroy(call);
  snprintf(path, sizeof path, "%s/weights%d.safetensors", folder, rank);
  check(levin_model_save(model, path), "save");
  config.text =
      "{\"trainer\": {\"accelerator\": \"cpu\"}, \"model\": {\"class\": \"MLPRegressor\", \"features\": 4,"
      " \"hidden\": [24, 24], \"outputs\": 2}}";
  check(levin_model_create(&config, path, &read), "create");
  check(levin_model_run(read, NULL, &input, 1), "run");
  check(levin_model_result(read, 0, &result), "result");
  printf("saved %.5f\n", (double)((const float*)result.data)[0]);
  levin_model_destroy(read);
  levin_model_destroy(model);
}

/* A start that all ranks get refused has released its ranks. */
static void start_wrongly(MPI_Comm communicator) {
  levin_config config = LEVIN_INIT(levin_config);
  levin_session_options options = LEVIN_INIT(levin_session_options);
  levin_ranks ranks = LEVIN_INIT(levin_ranks);
  levin_session* session = NULL;
  if (levin_mpi_ranks(communicator, &ranks) != LEVIN_OK) exit(2);
  config.text = "{\"trainer\": {\"max_step\": 5}, \"model\": {\"class\": \"MLPRegressor\"}}";
  options.config = &config;
  options.ranks = &ranks;
  if (levin_session_start(&options, &session) != LEVIN_INVALID) _exit(4);
  levin_mpi_release(&ranks);
}

static void train(MPI_Comm communicator) {
  static const int64_t input_shape[] = {BATCH, FEATURES}, target_shape[] = {BATCH, 2};
  double input[BATCH][FEATURES], target[BATCH][2];
  char text[1024], path[512], name[512];
  levin_config config = LEVIN_INIT(levin_config);
  levin_session_options options = LEVIN_INIT(levin_session_options);
  levin_ranks ranks = LEVIN_INIT(levin_ranks);
  levin_session* session = NULL;
  levin_session_state state = LEVIN_INIT(levin_session_state);
  levin_array arrays[2];
  int rank, step, i, j;
  double begun = 0;
  const int is_large = is_mode("time");
  MPI_Comm_rank(communicator, &rank);
  snprintf(text, sizeof text,
           "{\"seed\": 9, \"trainer\": {\"accelerator\": \"cpu\", \"strategy\": \"%s\", \"precision\": \"64-true\","
           " \"max_epochs\": -1, \"accumulate_grad_batches\": %d, \"gradient_clip_val\": 1.0,"
           " \"process_group_backend\": \"%s\", \"timeout_seconds\": %d},"
           " \"model\": {\"class\": \"MLPRegressor\", \"features\": %d, \"hidden\": [%d, %d], \"outputs\": 2}}",
           strategy, is_large ? 1 : 2, strcmp(over, "gloo") == 0 ? "gloo" : "auto",
           is_mode("hang") || is_mode("absent") ? 3 : 60, FEATURES, is_large ? 256 : 24, is_large ? 256 : 24);
  config.text = text;
  options.config = &config;
  if (strcmp(over, "mpi") == 0) {
    if (levin_mpi_ranks(communicator, &ranks) != LEVIN_OK) {
      fprintf(stderr, "refused: %s\n", levin_mpi_error());
      exit(2);
    }
    options.ranks = &ranks;
  } else {
    options.join_launcher = 1;
  }
  find_checkpoint(path, sizeof path);
  if (is_mode("save") && path[0] != '\0') options.ckpt_path = path;
  MPI_Barrier(communicator); /* all look before one writes */
  if (is_mode("absent") && rank == 1) {
    sleep(20);
    _exit(0);
  }
  if (levin_session_start(&options, &session) != LEVIN_OK) {
    fprintf(stderr, "start: %s\n", levin_error());
    _exit(3);
  }
  check(levin_session_get_state(session, &state), "state");
  for (step = (int)state.batches; step < steps; ++step) {
    int32_t wanted = 0;
    for (i = 0; i < BATCH; ++i) {
      for (j = 0; j < FEATURES; ++j) input[i][j] = sin(0.37 * step + 1.1 * i + 2.3 * j + 0.9 * rank);
      target[i][0] = input[i][0] + input[i][1];
      target[i][1] = input[i][2] * input[i][3];
    }
    if (is_mode("hang") && step == 3 && rank == 1) {
      sleep(20);
      _exit(0);
    }
    if (is_mode("time") && step == steps / 4) {
      MPI_Barrier(communicator);
      begun = MPI_Wtime();
    }
    set_array(&arrays[0], &input[0][0], input_shape, 2);
    set_array(&arrays[1], &target[0][0], target_shape, 2);
    check(levin_session_next(session, &wanted), "next");
    check(levin_session_step(session, arrays, 2, NULL), "step");
    if (is_mode("weights") && step == steps / 2) use_weights(session);
    if (is_finalised_early() && step == steps / 2) {
      MPI_Finalize();
      if (levin_session_step(session, arrays, 2, NULL) == LEVIN_OK) _exit(4);
      fprintf(stderr, "step: %s\n", levin_error());
      levin_session_destroy(session);
      exit(0);
    }
    if (is_mode("save") && step % 5 == 4) {
      snprintf(name, sizeof name, "%s/step%d.ckpt", folder, step + 1);
      check(levin_session_save(session, name), "save");
    }
  }
  if (is_mode("time") && rank == 0)
    printf("%.1f\n", 1e6 * (MPI_Wtime() - begun) / (steps - steps / 4)); /* microseconds a step */
  snprintf(name, sizeof name, "%s/end.ckpt", folder);
  check(levin_session_save(session, name), "save");
  check(levin_session_finish(session, NULL), "finish");
  levin_session_destroy(session);
}

static int handled_errors = 0;
static void handle_error(MPI_Comm* communicator, int* code, ...) {
  (void)communicator;
  (void)code;
  ++handled_errors;
}

/* Returns whether MPI still works, was not finalised, and calls the host's handler for the host's errors alone. */
static int is_as_before(MPI_Comm communicator, MPI_Errhandler handler, int size) {
  MPI_Errhandler after;
  int own = 1, sum = 0, is_finalised = 1;
  MPI_Finalized(&is_finalised);
  if (is_finalised) return 0;
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm_get_errhandler(communicator, &after);
  if (sum != size || after != handler || handled_errors != 0) return 0;
  MPI_Errhandler_free(&after);
  MPI_Send(&own, 1, MPI_INT, size, 0, communicator); /* there is no such rank */
  return handled_errors == 1;
}

static void* train_in_thread(void* communicator) {
  train(*(MPI_Comm*)communicator);
  return NULL;
}

int main(int argc, char** argv) {
  int level = 0, rank, size;
  MPI_Comm communicator = MPI_COMM_WORLD;
  MPI_Errhandler handler;
  if (argc < 5) return 2;
  over = argv[1];
  strategy = argv[2];
  steps = atoi(argv[3]);
  folder = argv[4];
  mode = argc > 5 ? argv[5] : "plain";
  if (is_mode("uninitialised")) {
    levin_ranks ranks = LEVIN_INIT(levin_ranks);
    const levin_status status = levin_mpi_ranks(MPI_COMM_WORLD, &ranks);
    fprintf(stderr, "refused: %s\n", levin_mpi_error());
    return status == LEVIN_INVALID ? 2 : 1;
  }
  if (is_mode("single"))
    MPI_Init(&argc, &argv);
  else
    MPI_Init_thread(&argc, &argv,
                    is_mode("multiple") || is_mode("finalised-multiple") ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED,
                    &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (is_mode("subset")) MPI_Comm_split(MPI_COMM_WORLD, rank == 1, rank, &communicator);
  MPI_Comm_create_errhandler(handle_error, &handler);
  MPI_Comm_set_errhandler(communicator, handler);
  if (is_mode("refused")) start_wrongly(communicator);
  if (is_mode("subset") && rank == 1) {
    /* Messages of its own, which must not meet levin's. */
    double sum = 0, own = 1;
    MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, communicator);
    if (sum != 1) return 1;
  } else if (is_mode("thread") || is_mode("multiple")) {
    pthread_t thread;
    pthread_create(&thread, NULL, train_in_thread, &communicator);
    pthread_join(thread, NULL);
  } else {
    train(communicator);
  }
  if (!is_as_before(communicator, handler, size)) {
    fprintf(stderr, "MPI is not as the host had it\n");
    return 1;
  }
  MPI_Finalize();
  return 0;
}
