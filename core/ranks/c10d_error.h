#pragma once
#include <exception>
#include <string>

namespace levin {

/// Returns the text of a c10d or gloo error without the source file before it and the advice and stack after it.
std::string c10d_reason(const std::exception& error);

/// Returns whether this is c10d's error for a rank that is gone or late, rather than a mistake in the program.
bool is_of_communication(const std::exception& error);

}  // namespace levin
