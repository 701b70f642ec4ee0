#include <levin/modules/lr_schedulers/registry.h>
#include <levin/modules/lr_schedulers/cosine_annealing_lr.h>
#include <levin/modules/lr_schedulers/one_cycle_lr.h>
#include <levin/modules/lr_schedulers/step_lr.h>

namespace levin {
namespace {

/// levin's own schedules.
void register_builtins(Registry<LRSchedulerKind::Entry>& registry) {
  add_lr_scheduler<StepLR, StepLROptions>(registry, "StepLR",
                                          "Decays the rate by gamma every step_size epochs or steps");
  add_lr_scheduler<CosineAnnealingLR, CosineAnnealingLROptions>(registry, "CosineAnnealingLR",
                                                                "Lets the rate fall along half a cosine");
  add_lr_scheduler<OneCycleLR, OneCycleLROptions>(registry, "OneCycleLR",
                                                  "Raises the rate, then lets it fall to almost nothing");
}

}  // namespace

Registry<LRSchedulerKind::Entry>& LRSchedulerKind::registry() {
  static Registry<Entry> registry = [] {
    Registry<Entry> made("lr_scheduler", "lr_schedulers");
    register_builtins(made);
    return made;
  }();
  return registry;
}

}  // namespace levin
