#pragma once
#include <levin/levin.h>

#include <memory>

#include "tests/small_modules.h"

/// Returns options of a session in a test; each has one compute thread and a seed.
inline levin::TrainerOptions options_in(const TemporaryFolder& folder) {
  levin::TrainerOptions options = quiet(folder);
  options.seed = 5;
  options.num_threads = 1;
  options.log_every_n_steps = 2;
  return options;
}

inline std::shared_ptr<ToyModule> new_module(uint64_t seed = 1, double dropout = 0.2) {
  torch::manual_seed(seed);
  return std::make_shared<ToyModule>(dropout);
}

/// All of the data as one batch.
inline levin::Batch batch_of(const ToyData& data) { return {data.input, data.target}; }

/// A module that makes its own data.
struct OwnData : ToyModule {
  using ToyModule::ToyModule;
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    if (!batch.empty()) throw std::runtime_error("a module that makes its own data got a batch");
    const auto input = torch::randn({3, 4});
    return loss_of({input, input.sum(1, true)});
  }
};
