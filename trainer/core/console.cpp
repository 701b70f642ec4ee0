#include <levin/trainer/core/console.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <memory>

namespace levin::console {
namespace {

std::shared_ptr<spdlog::logger> logger() {
  static const std::shared_ptr<spdlog::logger> made = [] {
    if (auto existing = spdlog::get("levin")) return existing;
    auto created = spdlog::stderr_color_mt("levin");
    // In a terminal a progress bar may stand in the line; it is drawn anew below the message.
    created->set_pattern(::isatty(STDERR_FILENO) ? "\r\x1b[Klevin: %^%v%$" : "levin: %v");
    return created;
  }();
  return made;
}

}  // namespace

void info(const std::string& message) { logger()->info("{}", message); }
void warn(const std::string& message) { logger()->warn("warning: {}", message); }

}  // namespace levin::console
