#pragma once
#include <levin/data/data_module.h>
#include <levin/data/loader.h>
#include <levin/modules/lightning_module.h>
#include <levin/trainer/trainer.h>
#include <levin/trainer/tuner/batch_size_search.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace levin {

/// The options of scale_batch_size. Names and defaults are those of PyTorch Lightning's `Tuner.scale_batch_size`, whose
/// `min_batches` would be 1.
struct BatchSizeOptions {
  Choice<BatchSizeMode> mode =
      LEVIN_OPTION(mode, BatchSizeMode::Power, "Double the size until memory runs out; binsearch: and bisect then");
  int64_t steps_per_trial = LEVIN_OPTION(steps_per_trial, 3, "Optimizer steps with each size", {.min = 1});
  int64_t init_val = LEVIN_OPTION(init_val, 2, "First size that is tried", {.min = 1});
  int64_t max_trials = LEVIN_OPTION(max_trials, 25, "Sizes that are tried at most", {.min = 1});
  double margin = LEVIN_OPTION(margin, 0.05,
                               "Part of the free memory that trials leave; binsearch also takes it off the size found",
                               {.min = 0, .max = 0.99});
  int64_t max_val = LEVIN_OPTION(max_val, 8192, "Largest size that is tried", {.min = 1});
  int64_t min_batches = LEVIN_OPTION(
      min_batches, 10, "Batches that an epoch keeps: the search ends before a size that leaves fewer", {.min = 1});
  std::optional<int64_t> memory_limit_bytes = LEVIN_OPTION(
      memory_limit_bytes, {},
      "Memory that a trial's tensors may take on the run's device; unset: what is free, without margin", {.min = 1});
  /// Sets the batch size of loaders created from now on; unset: the data module's set_batch_size. Required for the
  /// module's own loaders, and for data modules that cannot change their batch size.
  std::function<void(int64_t batch_size)> set_batch_size = {};
};

/// The result of scale_batch_size.
struct BatchSizeResult {
  int64_t batch_size = 0;
  std::optional<int64_t> batch_size_before = {};  ///< unset if the data module does not tell it
  std::vector<BatchSizeTrial> trials = {};
};

/// Finds the largest batch size whose training steps, and one validation batch, fit into memory. Out-of-memory errors
/// of a GPU are caught; on the CPU, where a machine would swap first, the tensors of a trial are limited to
/// memory_limit_bytes. Afterwards the data module has the size found, or its old size if this throws. Module, data and
/// random numbers are otherwise unchanged. Throws levin::UsageError if the batch size cannot be changed, or if not even
/// one sample fits.
/// Source: PyTorch Lightning's Tuner.scale_batch_size.
BatchSizeResult scale_batch_size(Trainer& trainer, ModuleRef module, data::DataModuleRef data,
                                 const BatchSizeOptions& options = {});
/// Returns the same with the module's own loaders; `options.set_batch_size` is needed.
BatchSizeResult scale_batch_size(Trainer& trainer, ModuleRef module, const BatchSizeOptions& options = {});

}  // namespace levin
