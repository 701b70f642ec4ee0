#pragma once
#include <string>

namespace levin::data {

/// Rethrows the exception that is being handled, with `place` and a colon before its message. A levin::UsageError stays
/// one; any other std::exception becomes a levin::Error; anything else is rethrown unchanged.
[[noreturn]] void rethrow_with_context(const std::string& place);

}  // namespace levin::data
