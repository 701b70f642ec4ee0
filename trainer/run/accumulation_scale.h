#pragma once
#include <levin/core/state/state.h>

#include <cstdint>

namespace levin {

/// The factor of the option keep_global_batch, for numbers of micro-batches per step: the ranks that the run began
/// with, divided by the present ranks.
class AccumulationScale {
 public:
  /// Converts `k` micro-batches per step, as options and callbacks give it, to `ranks`, the present number of ranks.
  /// Throws levin::UsageError if the result is no whole number.
  int64_t on_ranks(int64_t k, int64_t ranks) const;
  /// Records that the run continues with `after` ranks instead of `before`.
  void change_ranks(int64_t before, int64_t after);

  State state() const { return State::list({times_, by_}); }
  void load_state(const State& state);

 private:
  int64_t times_ = 1, by_ = 1;
};

}  // namespace levin
