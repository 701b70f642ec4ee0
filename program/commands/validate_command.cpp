#include <levin/program/commands/commands.h>
#include <levin/program/commands/run_module.h>

namespace levin::cli {

Command validate_command() {
  const auto run = [](const NoOptions&, const Words& words) { return run_module("validate", words); };
  return make_command<NoOptions>(
      {.name = "validate", .summary = "Run a module on its validation data", .rest = Rest::ConfigFlags}, run);
}

}  // namespace levin::cli
