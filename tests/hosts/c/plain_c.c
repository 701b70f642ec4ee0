/* A program in C99: a small network learns a sum, is saved, and continues in another session. */
#include <levin/c_api.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define BATCH 16

static const char* const kConfig =
    "{\"seed\": 5, \"trainer\": {\"accelerator\": \"cpu\", \"max_epochs\": -1},"
    " \"model\": {\"class\": \"MLPRegressor\", \"features\": 2, \"hidden\": [16],"
    "  \"optimizer\": {\"class\": \"Adam\", \"lr\": 0.01}}}";

static void check(levin_status status, const char* what) {
  if (status == LEVIN_OK) return;
  fprintf(stderr, "%s: status %d: %s\n", what, (int)status, levin_error());
  exit(1);
}

static levin_session* start(const char* checkpoint) {
  levin_config config = LEVIN_INIT(levin_config);
  levin_session_options options = LEVIN_INIT(levin_session_options);
  levin_session* session = NULL;
  config.text = kConfig;
  options.config = &config;
  options.ckpt_path = checkpoint;
  check(levin_session_start(&options, &session), "start");
  return session;
}

/* Trains some steps on points that follow from their number; returns the last loss. */
static double train(levin_session* session, int begin, int end) {
  static double input[BATCH][2], target[BATCH];
  const int64_t input_shape[] = {BATCH, 2}, target_shape[] = {BATCH};
  levin_array arrays[2];
  double loss = 0;
  int step, i;
  arrays[0] = (levin_array)LEVIN_INIT(levin_array);
  arrays[0].data = input;
  arrays[0].dtype = LEVIN_FLOAT64;
  arrays[0].rank = 2;
  arrays[0].shape = input_shape;
  arrays[1] = (levin_array)LEVIN_INIT(levin_array);
  arrays[1].data = target;
  arrays[1].dtype = LEVIN_FLOAT64;
  arrays[1].rank = 1;
  arrays[1].shape = target_shape;
  for (step = begin; step < end; ++step) {
    int32_t wanted = 0;
    levin_step_result result = LEVIN_INIT(levin_step_result);
    for (i = 0; i < BATCH; ++i) {
      input[i][0] = sin(0.7 * step + i);
      input[i][1] = cos(1.3 * step - 2 * i);
      target[i] = input[i][0] + 0.5 * input[i][1];
    }
    check(levin_session_next(session, &wanted), "next");
    check(levin_session_step(session, arrays, 2, &result), "step");
    if (!wanted || !result.stepped) {
      fprintf(stderr, "step %d did not train\n", step);
      exit(1);
    }
  }
  check(levin_session_loss(session, &loss), "loss");
  return loss;
}

int main(void) {
  /* A relative path is below the folder of checkpoints. */
  const char *const name = "plain_c_test.ckpt", *const checkpoint = "checkpoints/plain_c_test.ckpt";
  levin_session* session;
  double first, unbroken, continued;
  if (levin_abi_version() < LEVIN_ABI_VERSION) {
    fprintf(stderr, "the library is older than the header\n");
    return 1;
  }
  session = start(NULL);
  first = train(session, 0, 1);
  train(session, 1, 150);
  check(levin_session_save(session, name), "save");
  unbroken = train(session, 150, 300);
  check(levin_session_finish(session, NULL), "finish");
  levin_session_destroy(session);

  session = start(checkpoint);
  continued = train(session, 150, 300);
  levin_session_destroy(session);
  remove(checkpoint);
  train(start(NULL), 0, 1); /* a session that is never destroyed is left alone at exit */
  printf("loss %g at first, %g at the end, %g when it was resumed in between\n", first, unbroken, continued);
  return unbroken < 0.05 * first && unbroken == continued ? 0 : 1;
}
