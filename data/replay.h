#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <levin/core/state/state.h>
#include <levin/data/batch.h>
#include <levin/data/batch_fields.h>
#include <levin/data/loader.h>
#include <levin/data/replay/replay_storage.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace levin::data {

/// A batch of transitions drawn from a ReplayBuffer: `session.step(replay.sample(64))`, and in a step
/// `batch.as<levin::data::ReplaySample<Transition>>()`.
template <class B>
struct ReplaySample {
  /// [count, ...]. If n_step > 1, `reward` is the n-step return: the discounted sum of the rewards from this step on.
  /// `terminated`, `truncated` and all tensors whose names begin with "next_" are then those of the last step of the
  /// sum.
  B transitions = {};
  at::Tensor indices = {};    ///< int64 [count] on the CPU, for update_priorities: transition numbers, counted from 0
  at::Tensor weights = {};    ///< float [count]: importance weights, at most 1; all 1 unless prioritized
  at::Tensor discounts = {};  ///< float [count]: gamma^k for a sum of k rewards: the factor of the next state's value

  int64_t size() const { return indices.size(0); }
  ReplaySample to(c10::Device device, bool non_blocking = false) const {
    return {transitions.to(device, non_blocking), indices, weights.to(device, weights.scalar_type(), non_blocking),
            discounts.to(device, discounts.scalar_type(), non_blocking)};
  }
};

struct ReplayLoaderOptions {
  int64_t batch_size = 64;
  int64_t batches_per_epoch = 1000;
  std::function<void()> collect = {};  ///< called before each batch, to add transitions
};

/// A ring buffer of the newest transitions, from which a learner samples.
///
///     levin::data::ReplayBuffer<Transition> replay({.capacity = 50'000, .n_step = 3});
///     replay.add(transitions);                                  // of the environments 0, 1, ...
///     levin::data::ReplaySample<Transition> drawn = replay.sample(64);
///     target = drawn.transitions.reward + drawn.discounts * ~drawn.transitions.terminated * value_of_next;
///
/// `B` is a struct with LEVIN_BATCH_FIELDS, or Batch for tensors with names. The first batch defines names, row shapes
/// and dtypes; the memory is then allocated once. Adding copies each tensor of the batch once, and sampling is an
/// index_select of each.
///
/// All members may be called from any thread. The samples depend only on the seed, the transitions and their order.
/// `state_dict` holds all of these, so that a resumed run continues bit for bit: `session.register_state("replay",
/// replay)`. Its tensors share the buffer's memory, which is copied if transitions are added while the state exists.
///
/// Sources: Schaul et al., "Prioritized experience replay"; Sutton, "Learning to predict by the methods of temporal
/// differences" (n-step returns).
template <class B = Batch>
class ReplayBuffer {
  static_assert(std::same_as<B, Batch> || BatchStruct<B>,
                "levin: a replay buffer keeps levin::Batch or a struct with LEVIN_BATCH_FIELDS");

 public:
  /// Throws levin::UsageError for an option outside its limits.
  explicit ReplayBuffer(ReplayOptions options) : storage_(std::move(options), names_of_fields<B>()) {}

  /// Adds transitions [count, ...]; each gets the largest priority so far. Row i is the next transition of stream
  /// `first_stream` + i, such as an environment or an actor. Streams matter only if n_step > 1: an n-step return sums
  /// rewards of one stream, and stops at the end of an episode (`terminated` or, if there is such a tensor,
  /// `truncated`). Throws levin::UsageError if names, row shapes or dtypes differ from the first transitions', or if
  /// there are more rows than the capacity.
  void add(const B& transitions, int64_t first_stream = 0) { storage_.add(fields_of(transitions), first_stream); }

  /// Draws `count` transitions with replacement. An n-step return whose last steps have not been added yet is the sum
  /// of those that have; `discounts` shows how many. Throws levin::UsageError if the buffer is empty.
  ReplaySample<B> sample(int64_t count) {
    DrawnTransitions drawn = storage_.sample(count);
    return {from_fields<B>(std::move(drawn.fields)), std::move(drawn.indices), std::move(drawn.weights),
            std::move(drawn.discounts)};
  }

  /// Sets the priorities [count], such as absolute TD errors, of the transitions with the `indices` of a sample, plus
  /// 1e-6. Transitions that have been overwritten since are skipped. Throws levin::UsageError for another count, and
  /// for priorities that are negative or not finite.
  void update_priorities(const at::Tensor& indices, const at::Tensor& priorities) {
    storage_.update_priorities(indices, priorities);
  }
  /// Sets the exponent of the importance weights, in [0, 1].
  void set_beta(double beta) { storage_.set_beta(beta); }

  /// Returns the number of transitions in the buffer, at most the capacity.
  int64_t size() const { return storage_.size(); }
  /// Returns the number of transitions added so far, including those that have been overwritten.
  int64_t added() const { return storage_.added(); }
  const ReplayOptions& options() const { return storage_.options(); }

  /// Returns a loader for Trainer::fit whose batches are `ReplaySample<B>`, drawn when they are requested. The buffer
  /// must outlive the loader. A fit's checkpoints hold the buffer only if the module's on_save_checkpoint adds it.
  StreamLoader loader(ReplayLoaderOptions options) {
    return StreamLoader(
        [this, options = std::move(options)](int64_t /*epoch*/, int64_t batches) -> StreamLoader::Stream {
          return [this, options, left = options.batches_per_epoch - batches]() mutable -> std::optional<levin::Batch> {
            if (left-- <= 0) return {};
            if (options.collect) options.collect();
            return levin::Batch(sample(options.batch_size));
          };
        },
        {.on_demand = true});
  }

  State state_dict() const { return storage_.state_dict(); }
  /// Throws levin::UsageError if the state is of a buffer with another capacity, n_step or kind of sampling, or with
  /// other tensors.
  void load_state_dict(const State& state) { storage_.load_state_dict(state); }

 private:
  ReplayStorage storage_;
};

}  // namespace levin::data
