#pragma once
#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>
#include <levin/data/batch.h>
#include <levin/modules/step_output.h>
#include <torch/nn/module.h>

#include <utility>

namespace levin {

/// The arithmetic of a run: how modules and batches are converted, steps are run and losses are scaled.
class PrecisionPlugin {
 public:
  virtual ~PrecisionPlugin() = default;
  virtual void convert_module(torch::nn::Module& module) const = 0;
  virtual Batch convert_batch(Batch batch) const = 0;
  /// Runs one step of the module, under autocast where the precision has it.
  virtual StepOutput run_step(c10::function_ref<StepOutput()> step) const = 0;
  /// The loss that backward starts from.
  virtual at::Tensor scale(const at::Tensor& loss) const = 0;
  /// What gradients are multiplied by before they are read; undefined where that is 1.
  virtual at::Tensor inverse_scale() const = 0;
};

/// 32-true: everything as it is.
class FullPrecision final : public PrecisionPlugin {
 public:
  void convert_module(torch::nn::Module&) const override {}
  Batch convert_batch(Batch batch) const override { return batch; }
  StepOutput run_step(c10::function_ref<StepOutput()> step) const override { return step(); }
  at::Tensor scale(const at::Tensor& loss) const override { return loss; }
  at::Tensor inverse_scale() const override { return {}; }
};

}  // namespace levin
