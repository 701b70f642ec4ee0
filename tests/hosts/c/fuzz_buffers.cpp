#include "tests/hosts/c/fuzz_calls.h"

namespace {

/// One step of the environments, with what a rollout needs.
levin_status add_to_rollout(Drawing& draw) {
  std::array<double, 8> numbers = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::array<int64_t, 1> shape = {static_cast<int64_t>(draw.once_in(4) ? 2 : 1)};
  std::array<levin_array, 3> steps = {};
  constexpr std::array kNames = {"reward", "value", "terminated"};
  for (size_t i = 0; i < steps.size(); ++i) {
    steps[i] = LEVIN_INIT(levin_array);
    steps[i].name = kNames[i];
    steps[i].data = numbers.data();
    steps[i].dtype = LEVIN_FLOAT64;
    steps[i].rank = 1;
    steps[i].shape = shape.data();
  }
  return CALL(levin_rollout_add, draw.rollout(), draw.wrong(3) ? draw.arrays() : steps.data(), draw.wrong(9) ? 2 : 3,
              static_cast<int64_t>(draw.once_in(3)));
}

}  // namespace

levin_status call_replay(Drawing& draw) {
  switch (draw.below(9)) {
    case 0: {
      levin_replay_options options = LEVIN_INIT(levin_replay_options);
      options.capacity = static_cast<int64_t>(draw.below(50)) + (draw.wrong(3) ? -2 : 1);
      options.n_step = draw.once_in(6) ? 2 : 1;
      options.prioritized = static_cast<int32_t>(draw.below(2));
      levin_replay* made = nullptr;
      return draw.keep(&HandlesOfThread::replays, made, CALL(levin_replay_create, &options, &made));
    }
    case 1:
      CALL(levin_replay_destroy, draw.to_destroy(&HandlesOfThread::replays));
      return LEVIN_OK;
    case 2: {
      int64_t size = 0;
      return CALL(levin_replay_size, draw.replay(), draw.wrong(5) ? nullptr : &size);
    }
    case 3:
    case 4:
      return CALL(levin_replay_sample, draw.replay(), draw.wrong(3) ? -1 : static_cast<int64_t>(draw.below(7)));
    case 5:
      return draw.once_in(3) ? CALL(levin_replay_drawn_count, draw.replay(), draw.number())
                             : CALL(levin_replay_drawn, draw.replay(), draw.below(7), draw.out());
    case 6: {
      const levin_array indices = draw.array(1), priorities = draw.array(1);
      return CALL(levin_replay_set_priorities, draw.replay(), &indices, &priorities);
    }
    default:
      return CALL(levin_replay_add, draw.replay(), draw.arrays(), draw.count(),
                  draw.wrong(3) ? -1 : static_cast<int64_t>(draw.below(3)));
  }
}

levin_status call_rollout(Drawing& draw) {
  int32_t flag = 0;
  switch (draw.below(10)) {
    case 0: {
      levin_rollout_options options = LEVIN_INIT(levin_rollout_options);
      options.steps = static_cast<int64_t>(draw.below(4)) + (draw.wrong(3) ? -1 : 1);
      options.environments = static_cast<int64_t>(draw.once_in(3)) + (draw.wrong(3) ? -1 : 1);
      options.batch_size = static_cast<int64_t>(draw.below(3)) + (draw.wrong(3) ? -1 : 1);
      levin_rollout* made = nullptr;
      return draw.keep(&HandlesOfThread::rollouts, made, CALL(levin_rollout_create, &options, &made));
    }
    case 1:
      CALL(levin_rollout_destroy, draw.to_destroy(&HandlesOfThread::rollouts));
      return LEVIN_OK;
    case 2:
      return CALL(levin_rollout_is_full, draw.rollout(), draw.wrong(5) ? nullptr : &flag);
    case 3: {
      const int64_t one = 1;
      levin_array values = draw.array();
      if (draw.once_in(2)) {
        values.rank = 1;
        values.shape = &one;
      }
      return CALL(levin_rollout_finish, draw.rollout(), draw.wrong(5) ? nullptr : &values);
    }
    case 4:
    case 5:
      return CALL(levin_rollout_next, draw.rollout(), draw.wrong(5) ? nullptr : &flag);
    case 6:
      return draw.once_in(3) ? CALL(levin_rollout_drawn_count, draw.rollout(), draw.number())
                             : CALL(levin_rollout_drawn, draw.rollout(), draw.below(6), draw.out());
    default:
      return add_to_rollout(draw);
  }
}
