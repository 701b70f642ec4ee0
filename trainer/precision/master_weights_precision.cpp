#include <levin/trainer/precision/master_weights_precision.h>
#include <levin/modules/visit_batch_norm.h>
#include <levin/trainer/precision/convert_floats.h>

namespace levin {

// The loss itself may be float16, in which GradScaler's default scale, twice as large, is infinite.
MasterWeightsPrecision::MasterWeightsPrecision() : scaler_({.init_scale = 32768.0}) {}

void MasterWeightsPrecision::convert_module(torch::nn::Module& module) const {
  convert_floats(module, at::kHalf);
  for (const auto& part : module.modules(/*include_self=*/false))
    visit_batch_norm(*part, [](auto& norm) { convert_floats(norm, at::kFloat); });
}

void MasterWeightsPrecision::attach(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers) {
  masters_.clear();
  for (const auto& optimizer : optimizers) masters_.emplace_back(*optimizer);
}

}  // namespace levin
