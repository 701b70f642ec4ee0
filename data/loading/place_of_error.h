#pragma once
#include <string>

namespace levin::data {

/// Throws the exception that is being handled again, with `place` and a colon before its message. A levin::UsageError
/// stays one; any other std::exception becomes a levin::Error; what is no std::exception is thrown as it is.
[[noreturn]] void rethrow_with_place(const std::string& place);

}  // namespace levin::data
