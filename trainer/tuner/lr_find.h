#pragma once
#include <levin/data/data_module.h>
#include <levin/data/loader.h>
#include <levin/modules/lightning_module.h>
#include <levin/trainer/trainer.h>
#include <levin/trainer/tuner/lr_growth.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace levin {

/// The options of lr_find. Names and defaults are those of PyTorch Lightning's `Tuner.lr_find`.
struct LRFindOptions {
  double min_lr = LEVIN_OPTION(min_lr, 1e-8, "Rate of the first step", {.min = 0});
  double max_lr = LEVIN_OPTION(max_lr, 1, "Rate of the last step", {.min = 0});
  int64_t num_training = LEVIN_OPTION(num_training, 100, "Optimizer steps, each with another rate", {.min = 1});
  Choice<LRGrowth> mode = LEVIN_OPTION(mode, LRGrowth::Exponential, "How the rate grows");
  std::optional<double> early_stop_threshold =
      LEVIN_OPTION(early_stop_threshold, 4.0,
                   "End where the smoothed loss is n times the best, or not finite; unset: never", {.min = 0});
  bool update_attr =
      LEVIN_OPTION(update_attr, true, "Use the suggested rate in the trainer's fits, or give it to set_lr");
  int64_t skip_begin = LEVIN_OPTION(skip_begin, 10, "First steps that are not suggested", {.min = 0});
  int64_t skip_end = LEVIN_OPTION(skip_end, 1, "Last steps that are not suggested", {.min = 0});
  /// Receives the suggestion, for a module that stores its own rate. Unset: the trainer's fits set it in the optimizers
  /// of configure_optimizers, before schedulers are bound.
  std::function<void(double lr)> set_lr = {};
  /// The folder of lr_find.svg and lr_find.json. Unset: <default_root_dir>/<name> of the trainer; with barebones no
  /// files are written.
  std::optional<std::filesystem::path> folder = {};
};

/// The result of lr_find.
struct LRFindResult {
  std::vector<double> lrs = {};     ///< of the parameter group with the largest rate, one per step
  std::vector<double> losses = {};  ///< smoothed; the last may be NaN or infinite
  Choice<LRGrowth> mode = LRGrowth::Exponential;
  bool stopped_early = false;        ///< the loss grew too large
  std::optional<size_t> index = {};  ///< index of the suggestion in `lrs`
  std::filesystem::path plot = {};   ///< lr_find.svg; empty if it was not written

  /// Returns the rate where the loss falls most steeply; unset if there are too few steps.
  std::optional<double> suggestion() const { return index ? std::optional(lrs.at(*index)) : std::nullopt; }
  /// Plots the loss over the rate, with the suggestion marked: 720 x 440 pixels.
  std::string to_svg() const;
  std::string to_json() const;
};

/// Tries rates from min_lr to max_lr, one per optimizer step of a trial fit, and suggests the rate where the loss falls
/// most steeply. Each parameter group keeps its ratio to the largest rate; schedulers do not step. Module, data and
/// random numbers are restored, also if it throws. Throws levin::UsageError for a module with no or several optimizers,
/// and if nothing can be suggested.
/// Source: Smith, "Cyclical Learning Rates", https://arxiv.org/abs/1506.01186, and PyTorch Lightning's Tuner.lr_find.
LRFindResult lr_find(Trainer& trainer, ModuleRef module, data::DataModuleRef data, const LRFindOptions& options = {});
/// Returns the same with loaders, or with the module's own loaders.
LRFindResult lr_find(Trainer& trainer, ModuleRef module, data::Loaders train = {}, const LRFindOptions& options = {});

}  // namespace levin
