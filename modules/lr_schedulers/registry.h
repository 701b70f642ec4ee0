#pragma once
#include <levin/core/options/class_choice.h>
#include <levin/modules/lr_schedulers/lr_scheduler.h>

#include <functional>
#include <memory>
#include <string>

namespace levin {

/// Learning-rate schedules by name, for options such as `ClassChoice<LRSchedulerKind> lr_scheduler`.
///
/// An entry consists of an options struct and a spec made from it and an LRSchedulerConfig:
///
///     struct StepLROptions {
///       double gamma = LEVIN_OPTION(gamma, 0.1, "Factor of each decay");
///     };
///     struct StepLR : LRSchedulerSpec { StepLR(StepLROptions options, LRSchedulerConfig when = {}); ... };
///     add_lr_scheduler<StepLR, StepLROptions>(registry, "StepLR", "...");     // in register_builtins
///
/// A config's schedule is then made by `options.lr_scheduler.make("model.lr_scheduler")`.
struct LRSchedulerKind {
  using Entry = std::function<std::shared_ptr<const LRSchedulerSpec>(const void* options)>;
  static Registry<Entry>& registry();
};

/// The options of a schedule in a config: its own, and on the same level interval, frequency and monitor.
template <class Options>
struct Scheduled {
  Options options = {};
  LRSchedulerConfig config = {};
};

/// Adds a schedule that is constructed from `Options` and an LRSchedulerConfig.
template <class Spec, class Options>
bool add_lr_scheduler(Registry<LRSchedulerKind::Entry>& registry, const std::string& name,
                      const std::string& help = "") {
  registry.add<Scheduled<Options>>(name, help, [](const void* options) -> std::shared_ptr<const LRSchedulerSpec> {
    const auto& scheduled = *static_cast<const Scheduled<Options>*>(options);
    return std::make_shared<Spec>(scheduled.options, scheduled.config);
  });
  return true;
}

}  // namespace levin
