#pragma once
#include <levin/core/options/registry.h>
#include <levin/core/run/profiler.h>
#include <levin/trainer/profilers/profiler_kind.h>
#include <levin/trainer/profilers/profiler_options.h>

#include <concepts>
#include <functional>
#include <memory>
#include <string>

namespace levin {

/// The registry of profilers by name: `"profiler": "simple"` or `"profiler": {"class": "trace", "active": 5}`. Each is
/// created for one call of fit, validate, test or predict.
struct ProfilerKind {
  using Entry = std::function<std::unique_ptr<Profiler>(const void* options, const Profiler::Parts& parts)>;
  static Registry<Entry>& registry();
};

/// Adds profiler class `P`, which is constructed from the run's parts and, if it has a nested `Options`, from its
/// options.
template <std::derived_from<Profiler> P>
bool add_profiler(Registry<ProfilerKind::Entry>& registry, const std::string& name, const std::string& help = "") {
  registry.add<OptionsOf<P>>(
      name, help, [](const void* options, const Profiler::Parts& parts) { return make_registered<P>(options, parts); });
  return true;
}

}  // namespace levin

/// Registers a profiler class for configs. Use it at namespace scope in a .cpp file; the name may be qualified.
#define LEVIN_REGISTER_PROFILER(Class) \
  LEVIN_REGISTERED =                   \
      ::levin::add_profiler<Class>(::levin::ProfilerKind::registry(), ::levin::detail::unqualified(#Class))
