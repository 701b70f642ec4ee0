#pragma once
#include <string>

/// levin's messages to the user: lines on stderr, through a spdlog logger named "levin" (spdlog::get("levin") returns
/// it; spdlog's default logger is not touched).
namespace levin::console {

void info(const std::string& message);
/// Prints a warning, or adds it to the list of the innermost WarningScope of this thread.
void warn(const std::string& message);

/// Prints a warning, whatever the scope is.
void print_warning(const std::string& message);

}  // namespace levin::console
