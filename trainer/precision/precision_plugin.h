#pragma once
#include <c10/util/FunctionRef.h>
#include <levin/data/batch.h>
#include <torch/nn/module.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace torch::optim {
class Optimizer;
}

namespace levin {

namespace optim {
class GradScaler;
class MasterWeights;
}  // namespace optim

/// The precision of a run: how modules and batches are converted, in which context steps run, and how losses and
/// weights stay in the range of low-precision floats.
class PrecisionPlugin {
 public:
  virtual ~PrecisionPlugin() = default;

  /// Returns the name of the precision as in the option: "16-mixed".
  virtual const char* name() const = 0;
  /// Called once, before the module is placed on its device and optimizers are made.
  virtual void convert_module(torch::nn::Module& /*module*/) const {}
  /// Called once, before any state is applied. From then on the optimizers may step other tensors.
  virtual void attach(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& /*optimizers*/) {}
  virtual Batch convert_batch(Batch batch) const { return batch; }
  /// Runs one step of the module, in training or evaluation, under autocast if the precision uses it.
  virtual void forward_context(c10::function_ref<void()> step) const { step(); }
  /// Returns the loss scaler; null if losses are not scaled.
  virtual optim::GradScaler* scaler() { return nullptr; }
  /// Returns the weights that this optimizer steps instead of the module's; null if it steps the module's.
  virtual optim::MasterWeights* master_weights(size_t /*optimizer*/) { return nullptr; }
};

/// 32-true: nothing is converted.
class FullPrecision final : public PrecisionPlugin {
 public:
  const char* name() const override { return "32-true"; }
};

}  // namespace levin
