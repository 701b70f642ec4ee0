#pragma once
#include <levin/modules/parallel/ranks/gradient_reducer.h>

#include <cstdint>

namespace levin::parallel {

/// Lets ranks with different numbers of batches train together: a rank that has none left takes part with zero
/// gradients until all ranks are done, and makes the same steps.
///
///     levin::parallel::Join join(net->reducer());
///     for (auto batch = next(); join.goes_on(batch.has_value()); batch = next()) {
///       optimizer.zero_grad();
///       if (batch)
///         mse_loss(net(batch->input), batch->target).backward();
///       else
///         join.backward_without_loss();
///       optimizer.step();
///     }
///
/// Gradients stay the mean over all ranks; for the mean over the ranks that have a batch, multiply the loss by world
/// size / `ranks()`. Buffers come from the first rank that has a batch. Each step costs a small message.
/// Source: torch.nn.parallel.DistributedDataParallel.join.
class Join {
 public:
  /// `reducer` must outlive this.
  explicit Join(GradientReducer& reducer) : reducer_(reducer) {}

  /// Returns whether any rank has a batch. Collective: all ranks call it before each step.
  bool goes_on(bool has_batch);
  /// Returns the number of ranks that have a batch in this step.
  int64_t ranks() const { return ranks_; }
  /// Takes part in the forward and backward of the other ranks without a batch.
  void backward_without_loss();

 private:
  GradientReducer& reducer_;
  int64_t ranks_ = 0;
};

}  // namespace levin::parallel
