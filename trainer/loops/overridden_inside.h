#pragma once
#include <levin/trainer/run/step_parts.h>

#include <string>

namespace levin {

/// Returns the first hook or method inside of a training step that a callback or the module overrides, and that a step
/// in one piece does not call; empty if there is none.
std::string overridden_inside(const StepParts& parts);

}  // namespace levin
