#pragma once
#include <levin/core/options/class_choice.h>

namespace levin {

/// Profilers by name; profilers/registry.h has the registry.
struct ProfilerKind;
LEVIN_DECLARE_OPTION_TYPE(ClassChoice<ProfilerKind>);

}  // namespace levin
