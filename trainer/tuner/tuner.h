#pragma once
#include <levin/trainer/tuner/lr_find.h>
#include <levin/trainer/tuner/scale_batch_size.h>

#include <optional>

namespace levin {

/// The options of levin::tune. `batch_size.mode` is overwritten by the trainer's auto_scale_batch_size.
struct TuneOptions {
  LRFindOptions lr_find = {};
  BatchSizeOptions batch_size = {};
};

/// The result of levin::tune.
struct TuneResult {
  std::optional<BatchSizeResult> batch_size = {};
  std::optional<LRFindResult> lr_find = {};
  double lr_factor = 1;  ///< the factor that scale_lr applies to the rates
};

/// Runs the searches that the trainer's options ask for: the largest batch size (auto_scale_batch_size), then the
/// learning rate (auto_lr_find) or its scaling with the batch size (scale_lr). The trainer's fits use the results.
///
///     levin::Trainer trainer({.auto_lr_find = true, .auto_scale_batch_size = "power"});
///     levin::tune(trainer, *model, data);
///     trainer.fit(*model, data);
///
/// Throws levin::UsageError if the options ask for no search, and the errors of lr_find and scale_batch_size.
TuneResult tune(Trainer& trainer, ModuleRef module, data::DataModuleRef data, TuneOptions options = {});
/// Does the same with the given loaders, whose batch size cannot change, or without any with the module's own loaders,
/// for which auto_scale_batch_size needs `options.batch_size.set_batch_size`.
TuneResult tune(Trainer& trainer, ModuleRef module, data::Loaders train = {}, TuneOptions options = {});

}  // namespace levin
