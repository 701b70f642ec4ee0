/* Replay and rollout buffers for the module `levin`. */
#include "descriptor.h"

levin_status levin_fortran_replay(const int64_t* numbers, const double* reals, void** replay) {
  levin_replay_options options = LEVIN_INIT(levin_replay_options);
  levin_replay* made = NULL;
  options.capacity = numbers[0];
  options.n_step = numbers[1];
  options.seed = numbers[2];
  options.prioritized = (int32_t)numbers[3];
  options.gamma = reals[0];
  options.alpha = reals[1];
  options.beta = reals[2];
  const levin_status status = levin_replay_create(&options, &made);
  *replay = made;
  levin_fortran_hold(REPLAY, made);
  return status;
}

levin_status levin_fortran_rollout(const int64_t* numbers, const double* reals, void** rollout) {
  levin_rollout_options options = LEVIN_INIT(levin_rollout_options);
  levin_rollout* made = NULL;
  options.steps = numbers[0];
  options.environments = numbers[1];
  options.batch_size = numbers[2];
  options.passes = numbers[3];
  options.seed = numbers[4];
  options.keep_advantages = (int32_t)numbers[5];
  options.gamma = reals[0];
  options.gae_lambda = reals[1];
  const levin_status status = levin_rollout_create(&options, &made);
  *rollout = made;
  levin_fortran_hold(ROLLOUT, made);
  return status;
}

/* Adds what one step gives; `first`: the first stream or environment. */
int32_t levin_fortran_add(void* buffer, const described* arrays, size_t count, int64_t first) {
  arrays_of_call all;
  if (!levin_fortran_begin_arrays(&all, arrays, count)) return NO_MEMORY_LEFT;
  const levin_status status = levin_fortran_kind(buffer) == ROLLOUT
                                  ? levin_rollout_add((levin_rollout*)buffer, all.all, count, first)
                                  : levin_replay_add((levin_replay*)buffer, all.all, count, first);
  levin_fortran_end_arrays(&all);
  return status;
}

levin_status levin_fortran_priorities(void* replay, const described* indices, const described* priorities) {
  const levin_array of_indices = levin_fortran_array(indices), of_priorities = levin_fortran_array(priorities);
  return levin_replay_set_priorities((levin_replay*)replay, &of_indices, &of_priorities);
}

levin_status levin_fortran_advantages(void* rollout, const described* last_values) {
  const levin_array values = levin_fortran_array(last_values);
  return levin_rollout_finish((levin_rollout*)rollout, &values);
}

levin_status levin_fortran_register_buffer(void* session, const char* name, void* buffer) {
  return levin_fortran_kind(buffer) == ROLLOUT
             ? levin_session_register_rollout((levin_session*)session, name, (levin_rollout*)buffer)
             : levin_session_register_replay((levin_session*)session, name, (levin_replay*)buffer);
}
