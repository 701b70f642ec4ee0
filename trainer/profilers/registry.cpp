#include <levin/trainer/profilers/registry.h>
#include <levin/trainer/profilers/advanced_profiler.h>
#include <levin/trainer/profilers/memory_profiler.h>
#include <levin/trainer/profilers/simple_profiler.h>
#include <levin/trainer/profilers/trace_profiler.h>

namespace levin {
namespace {

/// Registers levin's profilers.
void register_builtins(Registry<ProfilerKind::Entry>& registry) {
  add_profiler<SimpleProfiler>(registry, "simple", "the time of each hook and phase, as a table");
  add_profiler<AdvancedProfiler>(registry, "advanced", "the operators of LibTorch that each action runs, as tables");
  add_profiler<TraceProfiler>(registry, "trace", "some steps as a Chrome trace, with LibTorch's operators");
  add_profiler<MemoryProfiler>(registry, "memory", "peak memory by phase, and where the largest tensors are made");
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

const OptionType& OptionTraits<ClassChoice<ProfilerKind>>::type() { return part_type<ProfilerKind>(); }

}  // namespace levin
