#pragma once
#include <levin/trainer/loops/training_step.h>

#include <cstdint>

namespace levin {

/// A step of manual optimization: training_step itself calls backward, zero_grad and step through its handles. There is
/// no accumulation and there are no weights; gradients are the mean over the ranks that have a batch. Backward and the
/// optimizers' arithmetic run outside of autocast, which holds for the rest of training_step and for closures.
class ManualStep final : public TrainingStep {
 public:
  explicit ManualStep(const StepParts& parts);

  Outcome run(const Batch& batch, int64_t batch_idx, bool last_of_epoch, const BatchOnRanks& on_ranks,
              StepProgram* program) override;
  Outcome finish_window() override { return {.window_done = true}; }

  void step(size_t index, const Closure& given) override;
  void backward(const at::Tensor& loss) override;
  void clip_gradients(size_t index, double value, GradientClipAlgorithm algorithm) override;

 private:
  Closure on_all_ranks(size_t index, const Closure& closure);
  at::Tensor share_of_mean(const at::Tensor& loss) const;

  BatchOnRanks on_ranks_ = {};
  bool stepped_ = false, updated_ = false;
};

}  // namespace levin
