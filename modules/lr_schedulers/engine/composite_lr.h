#pragma once
#include <levin/modules/lr_schedulers/lr_scheduler.h>

#include <memory>
#include <vector>

namespace levin {

/// Base of the schedulers that hold others, SequentialLR and ChainedScheduler. Their state is that of the others, in
/// `_schedulers`.
class CompositeLR : public LRScheduler {
 public:
  /// `schedulers` are bound to the same optimizer, with the same context.
  CompositeLR(torch::optim::Optimizer& optimizer, const LRSchedulerContext& context,
              std::vector<std::unique_ptr<LRScheduler>> schedulers);

  State state_dict() const override;
  void load_state_dict(const State& state) override;

  // As in Python: the others' epochs are taken back, its own is not, and the initial step is a step like any other.
  void undo_initial_step() override;
  void initial_step() override { step(); }
  /// Throws levin::UsageError: it cannot begin anew.
  void restart() override;

 protected:
  std::vector<double> next_lr(const std::vector<double>& current) override { return current; }

  std::vector<std::unique_ptr<LRScheduler>> schedulers_;
};

}  // namespace levin
