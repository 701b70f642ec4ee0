#pragma once
#include <levin/modules/optim/grad_scaler.h>
#include <levin/modules/optim/master_weights.h>
#include <levin/trainer/precision/precision_plugin.h>

#include <vector>

namespace levin {

/// amp_level O2: the module in float16 with BatchNorm in float32, optimizers that step float32 copies of the weights,
/// and a GradScaler. Source: NVIDIA Apex, opt_level O2.
class MasterWeightsPrecision final : public PrecisionPlugin {
 public:
  MasterWeightsPrecision();

  const char* name() const override { return "16-mixed with amp_level O2"; }
  void convert_module(torch::nn::Module& module) const override;
  void attach(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers) override;
  Batch convert_batch(Batch batch) const override { return batch.to(at::kHalf); }
  optim::GradScaler* scaler() override { return &scaler_; }
  optim::MasterWeights* master_weights(size_t optimizer) override { return &masters_.at(optimizer); }

 private:
  optim::GradScaler scaler_;
  std::vector<optim::MasterWeights> masters_ = {};  ///< one for each optimizer
};

}  // namespace levin
