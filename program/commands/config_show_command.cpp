#include <levin/program/cli/command_line.h>
#include <levin/program/commands/commands.h>
#include <levin/program/config/run_options.h>

#include <iostream>

namespace levin::cli {
namespace {

int run_show(const NoOptions& /*flags*/, const Words& words) {
  const CommandLine line = read_command_line(schema_of<RunOptions>(), "config show", words);
  std::cout << config_text(read_run_options(line.config), line.config);
  return 0;
}

}  // namespace

Command config_show_command() {
  return make_command({.name = "config show",
                       .summary = "Print the resolved config of a command line, as --print-config does",
                       .rest = Rest::ConfigFlags},
                      run_show);
}

}  // namespace levin::cli
