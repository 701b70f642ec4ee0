#pragma once
#include <string>

/// levin's messages to the user: lines on stderr, through a spdlog logger named "levin" (spdlog::get("levin") returns
/// it; spdlog's default logger is not touched).
namespace levin::console {

void info(const std::string& message);
void warn(const std::string& message);

}  // namespace levin::console
