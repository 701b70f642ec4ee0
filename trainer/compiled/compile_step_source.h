#pragma once

namespace levin::compiled {

/// Returns the text of trainer/compiled/compile_step.py, which Python runs to compile a step.
const char* compile_step_source();
/// Returns levin's version.
const char* levin_version();

}  // namespace levin::compiled
