/* A game loop whose agent learns while the game runs, in C: it moves along a line to where a target is, sees the target's place and its
 * own, and learns a value of each move from what happened (Q-learning over a replay buffer). Networks, optimizer and buffer are
 * levin's; the loss is the program's own. A game that is ended continues from its newest checkpoint.
 *
 *   c_host [GAMES]
 */
#include <levin/c_api.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMoves = 3, kSenses = 2, kBatch = 64, kFrames = 20 };

static void check(levin_status status, const char* what) {
  if (status == LEVIN_OK) return;
  fprintf(stderr, "%s: %s\n", what, levin_error());
  exit(1);
}

static levin_array array_of(const char* name, void* data, levin_dtype dtype, int32_t rank, const int64_t* shape) {
  levin_array array = LEVIN_INIT(levin_array);
  array.name = name;
  array.data = data;
  array.dtype = dtype;
  array.rank = rank;
  array.shape = shape;
  return array;
}

static double uniform(void) { return (double)rand() / RAND_MAX; }

/* Evaluates a model for some senses; returns the values [count][kMoves], which are levin's until the next call. */
static const float* values_of(levin_model* model, float* senses, int64_t count) {
  const int64_t shape[] = {count, kSenses};
  const levin_array input = array_of(NULL, senses, LEVIN_FLOAT32, 2, shape);
  levin_array output = LEVIN_INIT(levin_array);
  check(levin_model_run(model, NULL, &input, 1), "run");
  check(levin_model_result(model, 0, &output), "result");
  return (const float*)output.data;
}

static int best_of(const float* values) {
  int best = 0, move;
  for (move = 1; move < kMoves; ++move)
    if (values[move] > values[best]) best = move;
  return best;
}

/* Learns from a batch of what happened: the value of a move is its reward and the best value of what follows. */
static void learn(levin_session* session, levin_model* model, levin_replay* replay) {
  static float gradient[kBatch][kMoves], wanted[kBatch];
  static const int64_t shape[] = {kBatch, kMoves};
  levin_array state = LEVIN_INIT(levin_array), move = LEVIN_INIT(levin_array), reward = LEVIN_INIT(levin_array),
              next = LEVIN_INIT(levin_array), output = LEVIN_INIT(levin_array), adjoint;
  levin_call* call = NULL;
  double loss = 0;
  int i, j;
  check(levin_replay_sample(replay, kBatch), "sample");
  check(levin_replay_drawn(replay, 0, &state), "drawn");
  check(levin_replay_drawn(replay, 1, &move), "drawn");
  check(levin_replay_drawn(replay, 2, &reward), "drawn");
  check(levin_replay_drawn(replay, 3, &next), "drawn");
  {
    const float* const following = values_of(model, (float*)next.data, kBatch);
    for (i = 0; i < kBatch; ++i)
      wanted[i] = ((const float*)reward.data)[i] + 0.8f * following[i * kMoves + best_of(following + i * kMoves)];
  }
  state.name = NULL;
  check(levin_session_call(session, NULL, &state, 1, 0, &call), "call");
  check(levin_call_output(call, 0, &output), "output");
  for (i = 0; i < kBatch; ++i) {
    const int64_t made = ((const int64_t*)move.data)[i];
    const float error = ((const float*)output.data)[i * kMoves + made] - wanted[i];
    for (j = 0; j < kMoves; ++j) gradient[i][j] = j == made ? 2 * error / kBatch : 0;
    loss += error * error / kBatch;
  }
  adjoint = array_of(NULL, gradient, LEVIN_FLOAT32, 2, shape);
  check(levin_call_backward(call, &adjoint, 1), "backward");
  check(levin_session_step_calls(session, loss, &call, 1, NULL), "step");
  levin_call_destroy(call);
}

/* Plays a game; returns the mean distance to the target. */
static double play(levin_session* session, levin_model* model, levin_replay* replay, double curiosity) {
  double agent = uniform() * 2 - 1, target = uniform() * 2 - 1, distance = 0;
  int frame;
  for (frame = 0; frame < kFrames; ++frame) {
    static const int64_t one[] = {1}, senses_shape[] = {1, kSenses};
    float before[kSenses], after[kSenses], reward;
    int64_t move;
    int64_t size = 0;
    levin_array happened[4];
    before[0] = (float)agent;
    before[1] = (float)target;
    move = uniform() < curiosity ? rand() % kMoves : best_of(values_of(model, before, 1));
    agent += 0.2 * ((double)move - 1);
    after[0] = (float)agent;
    after[1] = (float)target;
    reward = (float)-fabs(agent - target);
    distance += fabs(agent - target) / kFrames;
    happened[0] = array_of("state", before, LEVIN_FLOAT32, 2, senses_shape);
    happened[1] = array_of("move", &move, LEVIN_INT64, 1, one);
    happened[2] = array_of("reward", &reward, LEVIN_FLOAT32, 1, one);
    happened[3] = array_of("next_state", after, LEVIN_FLOAT32, 2, senses_shape);
    check(levin_replay_add(replay, happened, 4, 0), "add");
    check(levin_replay_size(replay, &size), "size");
    if (session != NULL && size >= kBatch) learn(session, model, replay);
  }
  return distance;
}

int main(int argc, char** argv) {
  const int games = argc > 1 ? atoi(argv[1]) : 300;
  const char* const checkpoint = "checkpoints/agent.ckpt";
  FILE* file;
  levin_config config = LEVIN_INIT(levin_config);
  levin_session_options options = LEVIN_INIT(levin_session_options);
  levin_replay_options replay_options = LEVIN_INIT(levin_replay_options);
  levin_replay* replay = NULL;
  levin_session* session = NULL;
  levin_model* model = NULL;
  double first = 0, last = 0;
  int game;
  config.text =
      "{\"seed\": 4, \"trainer\": {\"accelerator\": \"cpu\", \"max_epochs\": -1}, \"model\": {\"class\": \"MLPRegressor\","
      " \"features\": 2, \"hidden\": [64, 64], \"outputs\": 3, \"optimizer\": {\"class\": \"Adam\", \"lr\": 0.003}}}";
  options.config = &config;
  file = fopen(checkpoint, "rb");
  if (file != NULL) {
    fclose(file);
    options.ckpt_path = checkpoint;
    printf("continues from %s\n", checkpoint);
  }
  replay_options.capacity = 10000;
  check(levin_replay_create(&replay_options, &replay), "replay");
  check(levin_session_start(&options, &session), "start");
  check(levin_session_register_replay(session, "replay", replay), "register");
  check(levin_session_model(session, &model), "model");
  srand(11);
  for (game = 0; game < 20; ++game) first += play(NULL, model, replay, 0) / 20;
  for (game = 0; game < games; ++game) play(session, model, replay, 0.3);
  for (game = 0; game < 20; ++game) last += play(NULL, model, replay, 0) / 20;
  printf("distance to the target: %.3f before, %.3f after %d games\n", first, last, games);
  check(levin_session_save(session, "agent.ckpt"), "save"); /* below the folder checkpoints */
  levin_model_destroy(model);
  levin_session_destroy(session);
  levin_replay_destroy(replay);
  return 0;
}
