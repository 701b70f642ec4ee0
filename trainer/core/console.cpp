#include <levin/trainer/core/console.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace levin::console {
namespace {

std::shared_ptr<spdlog::logger> logger() {
  static const std::shared_ptr<spdlog::logger> made = [] {
    if (auto existing = spdlog::get("levin")) return existing;
    auto created = spdlog::stderr_color_mt("levin");
    created->set_pattern("levin: %^%v%$");
    return created;
  }();
  return made;
}

}  // namespace

void info(const std::string& message) { logger()->info("{}", message); }
void warn(const std::string& message) { logger()->warn("warning: {}", message); }

}  // namespace levin::console
