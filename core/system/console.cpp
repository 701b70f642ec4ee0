#include <levin/core/system/console.h>
#include <levin/core/system/url_credentials.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string_view>

namespace levin::console {
namespace {

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::shared_ptr<spdlog::logger> logger() {
  static const std::shared_ptr<spdlog::logger> made = [] {
    if (auto existing = spdlog::get("levin")) return existing;
    const std::string_view terminal = variable("TERM");
    const bool draws = ::isatty(STDERR_FILENO) && !terminal.empty() && terminal != "dumb";
    auto created = spdlog::stderr_color_mt(
        "levin", draws && variable("NO_COLOR").empty() ? spdlog::color_mode::automatic : spdlog::color_mode::never);
    // The line of a terminal may hold a progress bar, which is redrawn below the message.
    created->set_pattern(draws ? "\r\x1b[Klevin: %^%v%$" : "levin: %v");
    return created;
  }();
  return made;
}

}  // namespace

void info(const std::string& message) { logger()->info("{}", without_credentials(message)); }
void print_warning(const std::string& message) { logger()->warn("warning: {}", without_credentials(message)); }

}  // namespace levin::console
