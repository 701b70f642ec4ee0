#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <levin/core/state/state.h>
#include <levin/data/batch.h>
#include <levin/data/batch_fields.h>
#include <levin/data/loader.h>
#include <levin/data/replay/rollout_storage.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace levin::data {

/// A batch drawn from a RolloutBuffer: `session.step(rollout.next())`, and in a step
/// `batch.as<levin::data::RolloutSample<Step>>()`.
template <class B>
struct RolloutSample {
  B steps = {};                ///< [count, ...], as they were added
  at::Tensor advantages = {};  ///< float [count]
  at::Tensor returns = {};     ///< float [count]: value plus the advantage before normalization

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
/// `B` is a struct with LEVIN_BATCH_FIELDS, or Batch for tensors with names. `finish` reads these fields, one number
/// per row: `reward`; `value`, the critic's estimate for the step's observation; `terminated`; and, if present,
/// `truncated`, which marks an episode that was cut short, with `final_value`, the estimate for its last observation.
///
/// All members may be called from any thread, so that actors can add the steps of their environments concurrently. The
/// orders depend only on the seed. `state_dict` holds the steps and the position among the minibatches, so that a
/// resumed run continues bit for bit: `session.register_state("rollout", rollout)`.
///
/// Source: Schulman et al., "High-dimensional continuous control using generalized advantage estimation".
template <class B = Batch>
class RolloutBuffer {
  static_assert(std::same_as<B, Batch> || BatchStruct<B>,
                "levin: a rollout buffer keeps levin::Batch or a struct with LEVIN_BATCH_FIELDS");

 public:
  /// Throws levin::UsageError for an option outside its limits.
  explicit RolloutBuffer(RolloutOptions options) : storage_(std::move(options), names_of_fields<B>()) {}

  /// Adds one step of each of the environments first_environment, first_environment + 1, ...: tensors [count, ...].
  /// Throws levin::UsageError if names, row shapes or dtypes differ from the first steps', if an environment already
  /// has all of its steps, or if minibatches of the previous rollout remain.
  void add(const B& steps, int64_t first_environment = 0) { storage_.add(fields_of(steps), first_environment); }
  /// Returns whether each environment has all of its steps.
  bool is_full() const { return storage_.is_full(); }
  /// Computes advantages and returns. `last_values` [environments]: the critic's estimates for the observations that
  /// follow the last steps; they are ignored for environments whose last step ended an episode. Throws
  /// levin::UsageError if steps or tensors are missing.
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
