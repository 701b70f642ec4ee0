#pragma once
#include <string>

/// What levin says to the person at the terminal: lines on stderr, through a spdlog logger of its own named "levin"
/// (spdlog::get("levin") reaches it; spdlog's default logger is not touched).
namespace levin::console {

void info(const std::string& message);
void warn(const std::string& message);

}  // namespace levin::console
