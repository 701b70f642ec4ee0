#pragma once
#include <levin/modules/lr_schedulers/lr_scheduler.h>

#include <memory>
#include <vector>

namespace levin {

/// The base class of schedulers that contain others: SequentialLR and ChainedScheduler. The states of the inner
/// schedulers are saved under `_schedulers`.
class CompositeLR : public LRScheduler {
 public:
  /// `schedulers` are bound to the same optimizer, with the same context.
  CompositeLR(torch::optim::Optimizer& optimizer, const LRSchedulerContext& context,
              std::vector<std::unique_ptr<LRScheduler>> schedulers);

  State state_dict() const override;
  void load_state_dict(const State& state) override;

  // As in Python: undoes the epochs of the inner schedulers but not its own; the initial step is an ordinary step.
  void undo_initial_step() override;
  void initial_step() override { step(); }
  /// Throws levin::UsageError: it cannot restart.
  void restart() override;

 protected:
  std::vector<double> next_lr(const std::vector<double>& current) override { return current; }

  std::vector<std::unique_ptr<LRScheduler>> schedulers_;
};

}  // namespace levin
