#pragma once
#include <levin/modules/lr_schedulers/lr_scheduler.h>
#include <levin/trainer/core/part.h>

#include <functional>
#include <memory>
#include <string>

namespace levin {

/// Learning-rate schedules by name, for options such as `Part<LRSchedulerKind> lr_scheduler`.
///
/// A class is an options struct, which has interval, frequency and monitor beside its own, and a spec made from it:
///
///     struct OneCycleLROptions {
///       double max_lr = LEVIN_OPTION(max_lr, 0.01, "Highest rate", {.min = 0});
///       AutoInt total_steps = LEVIN_OPTION(total_steps, "auto", "Steps; auto: those of the run");  // core/auto_int.h
///       LRSchedulerConfig when = {};      // no LEVIN_OPTION: its options stand flat beside the others
///     };
///     struct OneCycleLR : LRSchedulerSpec { explicit OneCycleLR(OneCycleLROptions options); ... };
///     add_lr_scheduler<OneCycleLR, OneCycleLROptions>(registry, "OneCycleLR", "...");     // in register_builtins
///
/// and is then made from a config by `options.lr_scheduler.make("model.lr_scheduler")`.
struct LRSchedulerKind {
  using Entry = std::function<std::shared_ptr<const LRSchedulerSpec>(const void* options)>;
  static Registry<Entry>& registry();
};

/// Adds a schedule that is constructed from `Options`.
template <class Spec, class Options>
bool add_lr_scheduler(Registry<LRSchedulerKind::Entry>& registry, const std::string& name,
                      const std::string& help = "") {
  registry.add<Options>(name, help, [](const void* options) -> std::shared_ptr<const LRSchedulerSpec> {
    return std::make_shared<Spec>(*static_cast<const Options*>(options));
  });
  return true;
}

}  // namespace levin
