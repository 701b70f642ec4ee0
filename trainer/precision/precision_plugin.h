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

class GradScaler;
namespace optim {
class MasterWeights;
}

/// The arithmetic of a run: how modules and batches are converted, in which context steps run, and how losses and
/// weights are kept in the range of small floats.
class PrecisionPlugin {
 public:
  virtual ~PrecisionPlugin() = default;

  /// As the option spells it: "16-mixed".
  virtual const char* name() const = 0;
  /// Called once, before the module is placed on its device and optimizers are made.
  virtual void convert_module(torch::nn::Module& /*module*/) const {}
  /// Called once, before any state is applied; the optimizers may step other tensors from here on.
  virtual void attach(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& /*optimizers*/) {}
  virtual Batch convert_batch(Batch batch) const { return batch; }
  /// Runs one step of the module, of training as of evaluation: under autocast, where the precision has it.
  virtual void forward_context(c10::function_ref<void()> step) const { step(); }
  /// What scales losses before backward, and gradients back; null where nothing does.
  virtual GradScaler* scaler() { return nullptr; }
  /// The weights that this optimizer steps in place of the module's; null where those are its own.
  virtual optim::MasterWeights* master_weights(size_t /*optimizer*/) { return nullptr; }
};

/// 32-true: everything as it is.
class FullPrecision final : public PrecisionPlugin {
 public:
  const char* name() const override { return "32-true"; }
};

}  // namespace levin
