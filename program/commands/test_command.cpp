#include <levin/program/commands/commands.h>
#include <levin/program/commands/run_module.h>

namespace levin::cli {

Command test_command() {
  const auto run = [](const NoOptions&, const Words& words) { return run_module("test", words); };
  return make_command<NoOptions>(
      {.name = "test", .summary = "Run a module on its test data", .rest = Rest::ConfigFlags}, run);
}

}  // namespace levin::cli
