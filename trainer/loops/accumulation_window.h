#pragma once
#include <levin/core/run/trainer_state.h>

#include <cstdint>

namespace levin {

/// The arithmetic of one gradient accumulation window: k micro-batches, of any weights, whose gradients become those of
/// their weighted mean. It computes with numbers alone; `WindowState` is what a checkpoint saves of it.
///
///     the loss of micro-batch i is multiplied by     w_i / w0 / k
///     the window's summed gradients by               k * ranks * w0 / sum(w over all ranks)
///
/// w0 is the window's first weight that is not 0; several ranks share one w0 for all windows of a run.
class AccumulationWindow {
 public:
  /// `state` must outlive the window.
  explicit AccumulationWindow(WindowState& state) : state_(state) {}

  /// Enters the next micro-batch, which starts a window of `k` if none is open. `last_of_epoch`: no micro-batch
  /// follows, so the window ends with this one.
  void enter(int64_t k, bool last_of_epoch) {
    first_ = state_.position == 0;
    if (first_) state_ = {.position = 0, .size = k, .first_weight = 0, .sum_of_weights = 0};
    last_ = last_of_epoch || state_.position + 1 >= state_.size;
    weight_before_ = state_.sum_of_weights;
  }
  /// Leaves the micro-batch, and after the last one the window.
  void leave() { state_.position = last_ ? 0 : state_.position + 1; }

  bool is_first() const { return first_; }
  bool is_last() const { return last_; }
  int64_t size() const { return state_.size; }
  double sum_of_weights() const { return state_.sum_of_weights; }

  /// Sets the weight of the micro-batch. A second call for the same micro-batch replaces the first, since an optimizer
  /// may evaluate its closure several times. `reference`: the w0 that ranks share; 0 if the window has its own.
  void add(double weight, double reference = 0) {
    if (reference != 0)
      state_.first_weight = reference;
    else if (state_.first_weight == 0)
      state_.first_weight = weight;
    state_.sum_of_weights = weight_before_ + weight;
  }

  /// w_i / w0: the factor of a micro-batch's loss, before the division by k. `weight` is what `add` was given.
  double loss_share(double weight) const {
    if (weight == 0) return 0;
    return weight == state_.first_weight ? 1 : weight / state_.first_weight;
  }
  /// Returns the factor of the window's gradients. `total`: the window's weight on all `ranks` together, not 0.
  double gradient_factor(double total, int64_t ranks) const {
    const double full = static_cast<double>(state_.size * ranks) * state_.first_weight;
    return full == total ? 1 : full / total;
  }

 private:
  WindowState& state_;
  bool first_ = false, last_ = false;
  double weight_before_ = 0;  ///< sum of the weights of earlier micro-batches
};

}  // namespace levin
