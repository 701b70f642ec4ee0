#pragma once
#include <levin/trainer/tuner/batch_size_finder.h>
#include <levin/trainer/tuner/lr_finder.h>

#include <optional>

namespace levin {

/// How levin::tune looks for what the trainer's options ask; `batch_size.mode` is the trainer's auto_scale_batch_size.
struct TuneOptions {
  LRFindOptions lr_find = {};
  BatchSizeOptions batch_size = {};
};

/// What levin::tune found.
struct TuneResult {
  std::optional<BatchSizeResult> batch_size = {};
  std::optional<LRFindResult> lr_find = {};
  double lr_factor = 1;  ///< by which scale_lr changes the rates
};

/// Looks for what the trainer's options ask before fit: the largest batch size (auto_scale_batch_size), then the
/// learning rate (auto_lr_find), or the one that follows the batch size (scale_lr). The trainer's fits use both.
///
///     levin::Trainer trainer({.auto_lr_find = true, .auto_scale_batch_size = "power"});
///     levin::tune(trainer, *model, data);
///     trainer.fit(*model, data);
///
/// Throws levin::UsageError where the options ask for nothing, and as lr_find and scale_batch_size.
TuneResult tune(Trainer& trainer, ModuleRef module, data::DataModuleRef data, TuneOptions options = {});
/// The same with loaders, whose batch size is what it is, or with the module's own: then auto_scale_batch_size needs
/// `options.batch_size.set_batch_size`.
TuneResult tune(Trainer& trainer, ModuleRef module, data::Loaders train = {}, TuneOptions options = {});

}  // namespace levin
