#include <levin/program/commands/commands.h>
#include <levin/program/config/config_docs.h>
#include <levin/program/config/run_options.h>

#include <iostream>

namespace levin::cli {
namespace {

int run_config_docs(const NoOptions& /*flags*/, const Words& /*words*/) {
  std::cout << config_docs(schema_of<RunOptions>());
  return 0;
}

}  // namespace

Command config_docs_command() {
  return make_command({.name = "config docs", .summary = "Print the page that describes all options"}, run_config_docs);
}

}  // namespace levin::cli
