#include <levin/data/replay.h>
#include <levin/data/rollout.h>
#include <levin/hosts/c/host_session.h>
#include <levin/hosts/c/status.h>

#include <mutex>
#include <utility>

namespace levin::c {
namespace {

/// What was drawn from a buffer. Any thread may draw.
class Drawn {
 public:
  void set(NamedTensors tensors) {
    const std::lock_guard lock(mutex_);
    results_.set(std::move(tensors));
  }
  size_t count() const {
    const std::lock_guard lock(mutex_);
    return results_.count();
  }
  void give(size_t place, levin_array& array) const {
    const std::lock_guard lock(mutex_);
    results_.give(place, array);
  }

 private:
  mutable std::mutex mutex_ = {};
  Results results_ = {};
};

/// A buffer of transitions, and what was drawn from it.
struct HostReplay {
  data::ReplayBuffer<> buffer;
  Drawn drawn = {};
};
struct HostRollout {
  data::RolloutBuffer<> buffer;
  Drawn drawn = {};
};

Handles<levin_replay, HostReplay>& replays() {
  static auto& all = *new Handles<levin_replay, HostReplay>("a replay buffer");
  return all;
}
Handles<levin_rollout, HostRollout>& rollouts() {
  static auto& all = *new Handles<levin_rollout, HostRollout>("a rollout buffer");
  return all;
}

/// Returns `value`, or the default for 0.
template <class T>
T or_default(T value, T by_default) {
  return value == T{} ? by_default : value;
}

/// Makes a batch of arrays as they are.
Batch rows_of(const levin_array* arrays, size_t count) {
  if (count > 0) given(arrays, "the arrays");
  Batch batch;
  for (size_t i = 0; i < count; ++i) {
    const std::string name = input_name(arrays[i], i);
    if (batch.contains(name)) throw UsageError("two arrays have the name ", name);
    batch.set(name, tensor_of(arrays[i]));
  }
  return batch;
}

NamedTensors tensors_of(const Batch& batch) {
  NamedTensors tensors;
  for (const std::string& name : batch.names()) tensors.emplace_back(name, batch[name]);
  return tensors;
}

data::ReplayOptions replay_options(const levin_replay_options& given_options) {
  data::ReplayOptions options;
  options.capacity = or_default(given_options.capacity, options.capacity);
  options.n_step = or_default(given_options.n_step, options.n_step);
  options.gamma = or_default(given_options.gamma, options.gamma);
  options.prioritized = given_options.prioritized != 0;
  options.alpha = or_default(given_options.alpha, options.alpha);
  options.beta = or_default(given_options.beta, options.beta);
  options.seed = given_options.seed;
  return options;
}

data::RolloutOptions rollout_options(const levin_rollout_options& given_options) {
  data::RolloutOptions options;
  options.steps = or_default(given_options.steps, options.steps);
  options.environments = or_default(given_options.environments, options.environments);
  options.batch_size = or_default(given_options.batch_size, options.batch_size);
  options.passes = or_default(given_options.passes, options.passes);
  options.gamma = or_default(given_options.gamma, options.gamma);
  options.gae_lambda = or_default(given_options.gae_lambda, options.gae_lambda);
  options.normalize_advantages = given_options.keep_advantages == 0;
  options.seed = given_options.seed;
  return options;
}

}  // namespace
}  // namespace levin::c

using namespace levin::c;

levin_status levin_replay_create(const levin_replay_options* options, levin_replay** replay) {
  return guarded("levin_replay_create", [&] {
    given(replay, "the replay") = nullptr;
    *replay = replays().add(std::shared_ptr<HostReplay>(
        new HostReplay{levin::data::ReplayBuffer<>(replay_options(sized(options, "the options")))}));
  });
}

void levin_replay_destroy(levin_replay* replay) {
  guarded("levin_replay_destroy", [&] { replays().take(replay); });
}

levin_status levin_replay_add(levin_replay* replay, const levin_array* transitions, size_t count,
                              int64_t first_stream) {
  return guarded("levin_replay_add",
                 [&] { replays().at(replay)->buffer.add(rows_of(transitions, count), first_stream); });
}

levin_status levin_replay_size(levin_replay* replay, int64_t* size) {
  return guarded("levin_replay_size", [&] { given(size, "the size") = replays().at(replay)->buffer.size(); });
}

levin_status levin_replay_sample(levin_replay* replay, int64_t count) {
  return guarded("levin_replay_sample", [&] {
    const auto held = replays().at(replay);
    levin::data::ReplaySample<levin::Batch> drawn = held->buffer.sample(count);
    NamedTensors tensors = tensors_of(drawn.transitions);
    tensors.emplace_back("indices", drawn.indices);
    tensors.emplace_back("weights", drawn.weights);
    tensors.emplace_back("discounts", drawn.discounts);
    held->drawn.set(std::move(tensors));
  });
}

levin_status levin_replay_drawn_count(levin_replay* replay, size_t* count) {
  return guarded("levin_replay_drawn_count", [&] { given(count, "the count") = replays().at(replay)->drawn.count(); });
}
levin_status levin_replay_drawn(levin_replay* replay, size_t place, levin_array* array) {
  return guarded("levin_replay_drawn", [&] { replays().at(replay)->drawn.give(place, given(array, "the array")); });
}

levin_status levin_replay_set_priorities(levin_replay* replay, const levin_array* indices,
                                         const levin_array* priorities) {
  return guarded("levin_replay_set_priorities", [&] {
    replays().at(replay)->buffer.update_priorities(tensor_of(given(indices, "the indices")),
                                                   tensor_of(given(priorities, "the priorities")));
  });
}

levin_status levin_session_register_replay(levin_session* session, const char* name, levin_replay* replay) {
  return guarded("levin_session_register_replay", [&] {
    const auto held = replays().at(replay);
    sessions().at(session)->session().register_state(
        &given(name, "the name"), [held] { return held->buffer.state_dict(); },
        [held](const levin::State& state) { held->buffer.load_state_dict(state); });
  });
}

levin_status levin_rollout_create(const levin_rollout_options* options, levin_rollout** rollout) {
  return guarded("levin_rollout_create", [&] {
    given(rollout, "the rollout") = nullptr;
    *rollout = rollouts().add(std::shared_ptr<HostRollout>(
        new HostRollout{levin::data::RolloutBuffer<>(rollout_options(sized(options, "the options")))}));
  });
}

void levin_rollout_destroy(levin_rollout* rollout) {
  guarded("levin_rollout_destroy", [&] { rollouts().take(rollout); });
}

levin_status levin_rollout_add(levin_rollout* rollout, const levin_array* steps, size_t count,
                               int64_t first_environment) {
  return guarded("levin_rollout_add",
                 [&] { rollouts().at(rollout)->buffer.add(rows_of(steps, count), first_environment); });
}

levin_status levin_rollout_is_full(levin_rollout* rollout, int32_t* full) {
  return guarded("levin_rollout_is_full", [&] { given(full, "full") = rollouts().at(rollout)->buffer.is_full(); });
}

levin_status levin_rollout_finish(levin_rollout* rollout, const levin_array* last_values) {
  return guarded("levin_rollout_finish",
                 [&] { rollouts().at(rollout)->buffer.finish(tensor_of(given(last_values, "the last values"))); });
}

levin_status levin_rollout_next(levin_rollout* rollout, int32_t* drawn) {
  return guarded("levin_rollout_next", [&] {
    given(drawn, "drawn") = 0;
    const auto held = rollouts().at(rollout);
    if (!held->buffer.is_ready()) return;
    levin::data::RolloutSample<levin::Batch> sample = held->buffer.next();
    NamedTensors tensors = tensors_of(sample.steps);
    tensors.emplace_back("advantages", sample.advantages);
    tensors.emplace_back("returns", sample.returns);
    held->drawn.set(std::move(tensors));
    *drawn = 1;
  });
}

levin_status levin_rollout_drawn_count(levin_rollout* rollout, size_t* count) {
  return guarded("levin_rollout_drawn_count",
                 [&] { given(count, "the count") = rollouts().at(rollout)->drawn.count(); });
}
levin_status levin_rollout_drawn(levin_rollout* rollout, size_t place, levin_array* array) {
  return guarded("levin_rollout_drawn", [&] { rollouts().at(rollout)->drawn.give(place, given(array, "the array")); });
}

levin_status levin_session_register_rollout(levin_session* session, const char* name, levin_rollout* rollout) {
  return guarded("levin_session_register_rollout", [&] {
    const auto held = rollouts().at(rollout);
    sessions().at(session)->session().register_state(
        &given(name, "the name"), [held] { return held->buffer.state_dict(); },
        [held](const levin::State& state) { held->buffer.load_state_dict(state); });
  });
}
