#pragma once

namespace levin::compiled {

/// Returns the text of trainer/compiled/compile_step.py, which Python runs to compile a step.
const char* compile_step_source();

}  // namespace levin::compiled
