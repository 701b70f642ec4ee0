#pragma once
#include <levin/data/batch.h>
#include <levin/data/rng.h>

#include <functional>
#include <memory>
#include <span>
#include <utility>

namespace levin::data {

/// A change to the samples of a batch, in the thread that loads the batch.
///
/// Called from several threads at once. A random transform draws from `rngs` only, so that its effect on a sample
/// depends on (seed, epoch, index) and not on the batch or the number of workers.
class Transform {
 public:
  virtual ~Transform() = default;
  /// Changes `batch`, whose tensors have no other owner, in place or by `batch.set(...)`. `rngs` has one entry per
  /// sample.
  virtual void operator()(Batch& batch, std::span<Rng> rngs) const = 0;
};

using TransformPtr = std::shared_ptr<const Transform>;

/// A user's function as a transform: `Lambda([](Batch& batch, std::span<Rng> rngs) { ... })`.
class Lambda final : public Transform {
 public:
  using Function = std::function<void(Batch& batch, std::span<Rng> rngs)>;
  explicit Lambda(Function function) : function_(std::move(function)) {}
  void operator()(Batch& batch, std::span<Rng> rngs) const override { function_(batch, rngs); }

 private:
  Function function_;
};

}  // namespace levin::data
