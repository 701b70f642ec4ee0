#pragma once
#include <levin/core/options/class_choice.h>

namespace levin {

/// Strategies by name; strategies/registry.h has the registry.
struct StrategyKind;
LEVIN_DECLARE_OPTION_TYPE(ClassChoice<StrategyKind>);

}  // namespace levin
