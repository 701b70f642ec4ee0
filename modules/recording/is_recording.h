#pragma once
#include <ATen/TracerMode.h>

namespace levin::recording {

/// Returns whether the operators that this thread calls are recorded. Checks of values are left out then: a program
/// has no place for what they would read.
inline bool is_recording() { return at::tracer::impl::is_dispatch_enabled(); }

}  // namespace levin::recording
