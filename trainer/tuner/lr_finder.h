#pragma once
#include <levin/data/data_module.h>
#include <levin/data/loader.h>
#include <levin/modules/lightning_module.h>
#include <levin/trainer/trainer.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace levin {

/// How a range test of the learning rate is made. Names and defaults are PyTorch Lightning's `Tuner.lr_find`.
struct LRFindOptions {
  double min_lr = LEVIN_OPTION(min_lr, 1e-8, "Rate of the first step", {.min = 0});
  double max_lr = LEVIN_OPTION(max_lr, 1, "Rate of the last step", {.min = 0});
  int64_t num_training = LEVIN_OPTION(num_training, 100, "Optimizer steps, each with another rate", {.min = 1});
  std::string mode = LEVIN_OPTION(mode, "exponential", "How the rate grows", {.choices = {"exponential", "linear"}});
  std::optional<double> early_stop_threshold =
      LEVIN_OPTION(early_stop_threshold, 4.0,
                   "End where the smoothed loss is so many times the best, or not finite; unset: never", {.min = 0});
  bool update_attr =
      LEVIN_OPTION(update_attr, true, "Use the suggested rate in the trainer's fits, or give it to set_lr");
  int64_t skip_begin = LEVIN_OPTION(skip_begin, 10, "First steps that are not suggested", {.min = 0});
  int64_t skip_end = LEVIN_OPTION(skip_end, 1, "Last steps that are not suggested", {.min = 0});
  /// Receives the suggestion, for a module that keeps its rate itself; unset: the trainer's fits give it to what
  /// configure_optimizers returns, before schedulers are bound.
  std::function<void(double lr)> set_lr = {};
  /// Where lr_find.svg and lr_find.json are written; unset: <default_root_dir>/<name> of the trainer, nothing with
  /// barebones.
  std::optional<std::filesystem::path> folder = {};
};

/// What a range test found.
struct LRFindResult {
  std::vector<double> lrs = {};     ///< of the parameter group with the largest rate, one for each step
  std::vector<double> losses = {};  ///< smoothed; the last may be NaN or infinite
  std::string mode = {};
  bool stopped_early = false;        ///< the loss grew too large
  std::optional<size_t> index = {};  ///< of the suggestion
  std::filesystem::path plot = {};   ///< lr_find.svg, where it was written

  /// The rate where the loss falls most steeply; unset where too few steps are left to say.
  std::optional<double> suggestion() const { return index ? std::optional(lrs.at(*index)) : std::nullopt; }
  /// The loss over the rate, with the suggestion marked: a picture of 720 x 440.
  std::string to_svg() const;
  std::string to_json() const;
};

/// Tries rates from min_lr to max_lr, one for each optimizer step of a fit that leaves no trace, and suggests the one
/// where the loss falls most steeply. All parameter groups follow, each with its share of the largest rate; schedulers
/// hold still. Module, data and random numbers are as before when it returns or throws.
/// Throws levin::UsageError for a module without or with several optimizers, and where nothing can be suggested.
/// Source: Smith, "Cyclical Learning Rates", https://arxiv.org/abs/1506.01186, and PyTorch Lightning's Tuner.lr_find.
LRFindResult lr_find(Trainer& trainer, ModuleRef module, data::DataModuleRef data, const LRFindOptions& options = {});
/// The same with loaders, or with the module's own.
LRFindResult lr_find(Trainer& trainer, ModuleRef module, data::Loaders train = {}, const LRFindOptions& options = {});

}  // namespace levin
