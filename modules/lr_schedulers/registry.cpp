#include <levin/modules/lr_schedulers/registry.h>

namespace levin {
namespace {

/// levin's own schedules.
void register_builtins(Registry<LRSchedulerKind::Entry>& /*registry*/) {}

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
