#pragma once

namespace levin::progress {

/// Returns whether the environment's locale is UTF-8. It is read from the variables, since only the program may call
/// setlocale.
bool locale_is_utf8();

}  // namespace levin::progress
