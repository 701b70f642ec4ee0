#pragma once
#include <levin/levin.h>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/gpu/skipped.h"
#include "tests/small_modules.h"

// The trainings of the GPU tests.

inline const torch::Device kGpu(torch::kCUDA, 0);

inline levin::TrainerOptions on(const TemporaryFolder& folder, const char* accelerator) {
  levin::TrainerOptions options = quiet(folder);
  options.accelerator = accelerator;
  options.max_epochs = 3;
  options.gradient_clip_val = 0.5;
  options.accumulate_grad_batches = 2;
  return options;
}

/// Returns the options for the GPU with one optimizer step per batch, which can be captured.
inline levin::TrainerOptions single_steps(const TemporaryFolder& folder) {
  levin::TrainerOptions options = on(folder, "gpu");
  options.accumulate_grad_batches = 1;
  return options;
}

inline levin::OptimizerConfig adamw_with_steps(ToyModule& module) {
  return levin::OptimizerConfig(levin::optim::AdamW(module.parameters(), {.lr = 0.01}),
                                levin::StepLR({.step_size = 1, .gamma = 0.9}));
}

inline std::vector<torch::Tensor> weights_on_cpu(const torch::nn::Module& module) {
  std::vector<torch::Tensor> weights;
  for (const torch::Tensor& parameter : module.parameters()) weights.push_back(parameter.detach().cpu());
  return weights;
}

/// Trains a new module in a whole run; returns its weights.
template <class M = ToyModule>
std::vector<torch::Tensor> train(const levin::TrainerOptions& options, const levin::data::Loaders& loader,
                                 const std::string& ckpt_path = "") {
  torch::manual_seed(1);
  const auto module = levin::make_module<M>();
  module->optimizers_of = adamw_with_steps;
  levin::Trainer(options).fit(*module, loader, {}, ckpt_path);
  return weights_on_cpu(*module);
}

/// A module with dropout, so that the GPU's random numbers matter.
struct Dropping : ToyModule {
  Dropping() : ToyModule(0.5) {}
};
