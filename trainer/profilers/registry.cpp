#include <levin/trainer/profilers/registry.h>
#include <levin/trainer/profilers/simple_profiler.h>

namespace levin {
namespace {

/// Registers levin's profilers.
void register_builtins(Registry<ProfilerKind::Entry>& registry) {
  add_profiler<SimpleProfiler>(registry, "simple", "the time of each hook and phase, as a table");
}

}  // namespace

Registry<ProfilerKind::Entry>& ProfilerKind::registry() {
  static Registry<Entry> registry = [] {
    Registry<Entry> made("profiler", "profilers");
    register_builtins(made);
    return made;
  }();
  return registry;
}

}  // namespace levin
