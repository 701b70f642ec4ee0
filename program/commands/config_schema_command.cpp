#include <levin/program/commands/commands.h>
#include <levin/program/config/json_schema.h>
#include <levin/program/config/run_options.h>

#include <iostream>
#include <nlohmann/json.hpp>

namespace levin::cli {
namespace {

int run_schema(const NoOptions& /*flags*/, const Words& /*words*/) {
  Json document = json_schema(schema_of<RunOptions>());
  document["required"] = Json::array({"model"});
  std::cout << document.dump(2) << "\n";
  return 0;
}

}  // namespace

Command config_schema_command() {
  return make_command({.name = "config schema", .summary = "Print the JSON Schema of a config, for editors"},
                      run_schema);
}

}  // namespace levin::cli
