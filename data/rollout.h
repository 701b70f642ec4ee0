#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <levin/data/batch.h>
#include <levin/data/batch_fields.h>
#include <levin/data/loader.h>
#include <levin/data/replay/rollout_storage.h>
#include <levin/trainer/core/state/state.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace levin::data {

/// A minibatch of a RolloutBuffer. It is a batch: `session.step(rollout.next())`, and in a step
/// `batch.as<levin::data::RolloutSample<Step>>()`.
template <class B>
struct RolloutSample {
  B steps = {};                ///< [count, ...], as they were added
  at::Tensor advantages = {};  ///< float [count]
  at::Tensor returns = {};     ///< float [count]: advantage, before it is normalized, plus value

  int64_t size() const { return advantages.size(0); }
  RolloutSample to(c10::Device device, bool non_blocking = false) const {
    return {steps.to(device, non_blocking), advantages.to(device, advantages.scalar_type(), non_blocking),
            returns.to(device, returns.scalar_type(), non_blocking)};
  }
};

/// A fixed number of steps of several environments, for algorithms that learn from their newest steps, such as PPO.
///
///     levin::data::RolloutBuffer<Step> rollout({.steps = 128, .environments = 8});
///     while (!rollout.is_full()) rollout.add(step_of_all_environments());
///     rollout.finish(critic(observations));                     // advantages and returns
///     while (rollout.is_ready()) session.step(rollout.next());  // `passes` times in new orders; then it is empty
///
/// `B` is a struct with LEVIN_BATCH_FIELDS, or Batch for tensors with names. These are read by `finish`, one number a
/// row: `reward`; `value`, the critic's estimate for the step's observation; `terminated`; and if there is one
/// `truncated`, which marks an episode that was cut, with `final_value`, the estimate for its last observation.
///
/// All members may be called from any thread, so that actors add the steps of their environments at once. The orders
/// depend on the seed alone. `state_dict` holds the steps and the position among the minibatches, so that a resumed
/// run goes on to the bit: `session.register_state("rollout", rollout)`.
///
/// Source: Schulman et al., "High-dimensional continuous control using generalized advantage estimation".
template <class B = Batch>
class RolloutBuffer {
  static_assert(std::same_as<B, Batch> || BatchStruct<B>,
                "levin: a rollout buffer keeps levin::Batch or a struct with LEVIN_BATCH_FIELDS");

 public:
  /// Throws levin::UsageError for an option out of its limits.
  explicit RolloutBuffer(RolloutOptions options) : storage_(std::move(options), names_of_fields<B>()) {}

  /// Adds one step [count, ...] of each of the environments first_environment, first_environment + 1, ... Throws
  /// levin::UsageError if the tensors are not like the first ones, if an environment has all of its steps, and if
  /// minibatches of the last rollout are left.
  void add(const B& steps, int64_t first_environment = 0) { storage_.add(fields_of(steps), first_environment); }
  /// Returns whether each environment has all of its steps.
  bool is_full() const { return storage_.is_full(); }
  /// Computes advantages and returns. `last_values` [environments]: the critic's estimates for the observations that
  /// follow the last steps; it does not count where the last step has ended an episode. Throws levin::UsageError if
  /// steps or tensors are missing.
  void finish(const at::Tensor& last_values) { storage_.finish(last_values); }
  /// Returns whether minibatches are left.
  bool is_ready() const { return storage_.is_ready(); }
  /// Returns the next minibatch. After the last one of the last pass the buffer is empty and takes steps again. Throws
  /// levin::UsageError if there is none.
  RolloutSample<B> next() {
    DrawnSteps drawn = storage_.next();
    return {from_fields<B>(std::move(drawn.fields)), std::move(drawn.advantages), std::move(drawn.returns)};
  }
  const RolloutOptions& options() const { return storage_.options(); }

  /// Returns a loader for Trainer::fit whose batches are `RolloutSample<B>` and whose epoch is one rollout. `collect`
  /// is called at an epoch's beginning; it adds the steps and calls `finish`. The buffer must outlive the loader. The
  /// checkpoint of a fit holds the buffer if the module's on_save_checkpoint puts it there.
  StreamLoader loader(std::function<void()> collect) {
    return StreamLoader(
        [this, collect = std::move(collect)](int64_t /*epoch*/, int64_t batches) -> StreamLoader::Stream {
          return [this, collect, is_new = batches == 0]() mutable -> std::optional<levin::Batch> {
            if (!is_ready()) {
              if (!std::exchange(is_new, false)) return {};
              collect();
            }
            is_new = false;
            return levin::Batch(next());
          };
        },
        {.on_demand = true});
  }

  State state_dict() const { return storage_.state_dict(); }
  /// Throws levin::UsageError if the state is of a buffer with another number of steps or environments, or with other
  /// tensors.
  void load_state_dict(const State& state) { storage_.load_state_dict(state); }

 private:
  RolloutStorage storage_;
};

}  // namespace levin::data
