#pragma once
#include <levin/core/options/class_choice.h>
#include <levin/core/options/registry.h>
#include <levin/modules/lr_schedulers/lr_scheduler.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>

namespace levin {

/// The registry of learning-rate schedules by name, for options such as `ClassChoice<LRSchedulerKind> lr_scheduler`:
/// `{"class": "StepLR", "step_size": 10, "interval": "step"}`. A config's schedule is made by
/// `options.lr_scheduler.make("model.lr_scheduler")`.
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

/// Adds schedule `Spec`, which is constructed from its nested `Options`, if it has some, and an LRSchedulerConfig.
template <class Spec, class Options = OptionsOf<Spec>>
bool add_lr_scheduler(Registry<LRSchedulerKind::Entry>& registry, const std::string& name,
                      const std::string& help = "") {
  registry.add<Scheduled<Options>>(name, help, [](const void* options) -> std::shared_ptr<const LRSchedulerSpec> {
    const auto& scheduled = *static_cast<const Scheduled<Options>*>(options);
    if constexpr (std::is_same_v<Options, NoOptions>)
      return std::make_shared<Spec>(scheduled.config);
    else
      return std::make_shared<Spec>(scheduled.options, scheduled.config);
  });
  return true;
}

}  // namespace levin

/// Registers a schedule for configs. Use it at namespace scope in a .cpp; the name may be qualified.
#define LEVIN_REGISTER_LR_SCHEDULER(Class) \
  LEVIN_REGISTERED =                       \
      ::levin::add_lr_scheduler<Class>(::levin::LRSchedulerKind::registry(), ::levin::detail::unqualified(#Class))
