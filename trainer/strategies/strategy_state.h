#pragma once
#include <levin/core/state/state.h>
#include <torch/optim/optimizer.h>

#include <string>
#include <vector>

namespace levin {

/// What checkpoints hold of a strategy's ranks: weights, optimizers' states, gradients of an open window, and the
/// strategy's own state.
///
/// All functions are pure virtual, so that a wrapper of another strategy cannot forget one.
class StrategyState {
 public:
  virtual ~StrategyState() = default;

  /// Returns the module's weights by name, as module_state_dict does; the rank that writes checkpoints gets them all.
  /// Collective: all ranks call it.
  virtual State weights() = 0;
  /// Returns the whole state of an optimizer, gathered from its shards, in the layout of Python's optimizers; the rank
  /// that writes checkpoints gets it. Collective: all ranks call it.
  virtual State optimizer_state(torch::optim::Optimizer& optimizer) = 0;
  /// Restores such a state. Throws levin::UsageError if it does not fit; the optimizer is then unchanged.
  virtual void load_optimizer_state(torch::optim::Optimizer& optimizer, const State& state) = 0;

  /// Returns whether checkpoints are sharded: each rank writes what it holds.
  virtual bool saves_shards() const = 0;
  /// The weights and an optimizer's state for a sharded checkpoint. What is sharded has marks in the tree, and this
  /// rank's shards are added to `shards` (sharded_state.h), those of weights by keys that begin with `key`. They are no
  /// collectives.
  virtual State sharded_weights(State& shards, const std::string& key) = 0;
  virtual State sharded_optimizer_state(torch::optim::Optimizer& optimizer, State& shards) = 0;

  /// Returns the mean gradients that this rank holds besides the parameters' own, for a checkpoint; none if there are
  /// none.
  virtual State gradient_means() = 0;
  /// Restores what each rank of an earlier session has returned. Returns false if the strategy holds no such means.
  virtual bool load_gradient_means(const std::vector<State>& of_ranks) = 0;

  /// Returns the strategy's own state for an exact resume; none if it has no state.
  virtual State state_dict() = 0;
  /// Called after `Strategy::attach`. Throws levin::UsageError for another module's state.
  virtual void load_state_dict(const State& state) = 0;
};

}  // namespace levin
