#pragma once
#include <levin/core/options/class_choice.h>
#include <levin/core/options/registry.h>
#include <levin/trainer/loggers/logger.h>

#include <concepts>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>

namespace levin {

/// The registry of loggers by name: `"logger": ["CSVLogger", {"class": "TensorBoardLogger"}]`. Each is created for a
/// run's folder.
struct LoggerKind {
  using Entry = std::function<std::shared_ptr<Logger>(const void* options, const std::filesystem::path& folder)>;
  static Registry<Entry>& registry();
};

/// Adds logger class `L`, which is constructed from the run's folder and, if it has a nested `Options`, from its
/// options.
template <std::derived_from<Logger> L>
bool add_logger(Registry<LoggerKind::Entry>& registry, const std::string& name, const std::string& help = "") {
  registry.add<OptionsOf<L>>(name, help, [](const void* options, const std::filesystem::path& folder) {
    return make_registered<L>(options, folder);
  });
  return true;
}

}  // namespace levin

/// Registers a logger class for configs. Use it at namespace scope in a .cpp file; the name may be qualified.
#define LEVIN_REGISTER_LOGGER(Class) \
  LEVIN_REGISTERED = ::levin::add_logger<Class>(::levin::LoggerKind::registry(), ::levin::detail::unqualified(#Class))
