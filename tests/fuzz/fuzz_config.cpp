#include <levin/core/system/error.h>
#include <levin/program/cli/command_line.h>
#include <levin/program/config/config_file.h>
#include <levin/program/config/config_text.h>
#include <levin/program/config/problems.h>
#include <levin/program/config/reference_text.h>
#include <levin/program/config/references.h>

#include <stdexcept>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/toy_schema.h"

namespace levin::testing {
namespace {

/// Returns the config with the values of all options.
Json resolved(const cli::Config& config) {
  ToyConfig options;
  schema_of<ToyConfig>().set(&options, "", config.values);
  return schema_of<ToyConfig>().get(&options);
}

void check_round_trip(const Json& values) {
  const Schema& schema = schema_of<ToyConfig>();
  cli::Config again = cli::parse_config("again", cli::with_escaped_references(values).dump());
  if (!cli::resolve_references(schema, again).empty()) throw std::logic_error("an escaped config has references");
  if (resolved(again).dump() != values.dump()) throw std::logic_error("a config reads differently a second time");
}

}  // namespace

void fuzz_config(const std::string& input) try {
  const Schema& schema = schema_of<ToyConfig>();
  cli::Config config;
  size_t number = 0;
  for (const std::string& text : cli::split(input, "\n---\n")) {
    cli::Config file = cli::parse_config("file" + std::to_string(number++), text);
    cli::lift_seed_and_name(file);
    cli::merge(schema, config, file);
  }
  cli::throw_problems(cli::resolve_references(schema, config));
  cli::throw_problems(cli::find_problems(schema, config));
  Json values;
  try {
    values = resolved(config);
  } catch (const UsageError& error) {
    throw std::logic_error(std::string("a config without problems cannot be set: ") + error.what());
  }
  check_round_trip(values);
} catch (const UsageError&) {
}

const std::vector<std::string>& config_seeds() {
  static const std::vector<std::string> seeds = {
      R"({"seed": 1, "name": "x", "trainer": {"max_epochs": 5, "accelerator": "cpu", "devices": "0,1",
 "max_time": "00:01:00:00"},
 "model": {"class": "Net", "optimizer": {"class": "Step", "lr": 0.001, "betas": [0.9, 0.99]}},
 "data": "Empty"})",
      R"({"trainer": {"callbacks": ["Step", {"class": "Other", "mode": "max", "steps": "auto"}],
 "limit": 0.5, "interval": 3}}
---
{"$schema": "x", "trainer": {"callbacks": [], "seed": 3, "fast_dev_run": true},
 "model": {"class": "Net", "optimizer": "Other"}})",
      R"({"name": "${seed}_$${x}_${env:HOME}", "seed": "${trainer.max_steps}", "trainer": {"max_steps": 1e3,
 "max_epochs": "${seed}"}, "model": {"class": "Net", "optimizer": {"betas": "${model.optimizer.betas[0]}"}}})",
      R"({"model": {"class": "Net", "optimizer": {"lr": 0.5}}}
---
{"model": {"optimizer": {"class": "Other"}}}
---
{"model": {"optimizer": {"class": "Step"}, "weights": null}})",
      R"({"a": [1, {"b": null}, 1e400, "\u00e9"], "a": 1,})",
      "{\"x\": \"\xff\"}",
      "// no JSON",
      "",
  };
  return seeds;
}

}  // namespace levin::testing
