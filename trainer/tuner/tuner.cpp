#include <levin/trainer/tuner/tuner.h>
#include <c10/util/StringUtil.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/trainer/trainer_impl.h>
#include <levin/trainer/tuner/lr_scaling.h>

#include <utility>

namespace levin {
namespace {

/// Returns the factor by which the rates scale with the batch size.
double factor_of(const Choice<LRScalingRule>& rule, const BatchSizeResult& found) {
  if (!found.batch_size_before)
    throw UsageError(
        "trainer.scale_lr: the batch size before is not known, since the data module does not tell it; "
        "override batch_size(), or use levin::scale_lr");
  const double factor = scale_lr(1.0, found.batch_size, *found.batch_size_before, rule);
  console::info(c10::str("learning rates are multiplied by ", factor, " (", rule.word(), ", batch size ",
                         found.batch_size, " instead of ", *found.batch_size_before, ")"));
  return factor;
}

TuneResult tune_both(Trainer& trainer, ModuleRef module, const std::optional<data::DataModuleRef>& data,
                     data::Loaders train, TuneOptions options) {
  const ResolvedOptions& asked = trainer.options();
  if (!asked->auto_lr_find && !asked->auto_scale_batch_size)
    throw UsageError(
        "tune: there is nothing to look for; set the trainer's auto_lr_find or auto_scale_batch_size, or "
        "call levin::lr_find or levin::scale_batch_size");
  TuneResult result;
  if (asked->auto_scale_batch_size && !train.empty())
    throw UsageError(
        "trainer.auto_scale_batch_size: loaders that are made already keep their batch size; give tune a "
        "data module, or let the module make its loaders");
  if (asked->auto_scale_batch_size) {
    options.batch_size.mode = *asked->auto_scale_batch_size;
    result.batch_size = data ? scale_batch_size(trainer, module, *data, options.batch_size)
                             : scale_batch_size(trainer, module, options.batch_size);
    if (asked->scale_lr) result.lr_factor = factor_of(*asked->scale_lr, *result.batch_size);
    TuningOutcome& tuned = Trainer::Impl::of(trainer).tuned;
    tuned.lr_factor = result.lr_factor;
  }
  if (asked->auto_lr_find)
    result.lr_find = data ? lr_find(trainer, module, *data, options.lr_find)
                          : lr_find(trainer, module, std::move(train), options.lr_find);
  return result;
}

}  // namespace

TuneResult tune(Trainer& trainer, ModuleRef module, data::DataModuleRef data, TuneOptions options) {
  return tune_both(trainer, module, data, {}, std::move(options));
}
TuneResult tune(Trainer& trainer, ModuleRef module, data::Loaders train, TuneOptions options) {
  return tune_both(trainer, module, {}, std::move(train), std::move(options));
}

}  // namespace levin
