#include <levin/core/system/error.h>
#include <levin/program/cli/flags.h>
#include <levin/program/config/config_text.h>
#include <levin/program/config/problems.h>
#include <levin/program/config/references.h>

#include <stdexcept>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/toy_schema.h"

namespace levin::testing {

void fuzz_flags(const std::string& input) try {
  const Schema& schema = schema_of<ToyConfig>();
  std::vector<std::string> arguments;
  for (const std::string& argument : cli::split(input, "\n"))
    arguments.push_back(argument.substr(0, argument.find('\0')));  // as in argv
  cli::config_files_of(arguments);
  cli::Config config, with_classes;
  cli::apply(schema, with_classes, cli::likely_overrides(arguments));
  const cli::Flags flags = cli::read_flags(schema, "fit", arguments, with_classes.values);
  if (!flags.help.empty()) return;
  cli::throw_problems(flags.problems);
  cli::throw_problems(cli::apply(schema, config, flags.overrides));
  cli::throw_problems(cli::resolve_references(schema, config));
  cli::throw_problems(cli::find_problems(schema, config));
  ToyConfig options;
  try {
    schema.set(&options, "", config.values);
    schema.get(&options).dump();
  } catch (const UsageError& error) {
    throw std::logic_error(std::string("flags without problems cannot be set: ") + error.what());
  }
} catch (const UsageError&) {
}

const std::vector<std::string>& flag_seeds() {
  static const std::vector<std::string> seeds = {
      "--config\na.json\nb.json\n--max-epochs\n3\n--max_steps=-1\n--barebones",
      "--model.class\nNet\n--model.optimizer.lr\n1e-3\n--model.optimizer.betas=0.5,0.75\n--model.weights=null",
      "--model.class=Net\n--model.optimizer.class\nOther\n--model.optimizer.steps\nauto\n--data.class\nEmpty",
      "--trainer.devices\n0,1\n--accelerator\ncpu\n--limit\n0.5\n--interval\n00:00:10:00\n--max-time\n90\n--"
      "callbacks\n["
      "\"Step\"]",
      "--fast-dev-run\nfalse\n--fast_dev_run=2\n--seed\n${trainer.max_steps}\n--name\n$${x}",
      "--callbacks\nStep\n--callbacks={\"class\": "
      "\"Other\"}\n--callbacks.0.lr\n1\n--callbacks.1.mode=max\n--callbacks+=Step",
      "--model.optimizer.betas.1\n0.5\n--callbacks.3.lr\n1\n--callbacks+\n[]\n--trainer.callbacks.0.class\nOther",
      "--help",
      "-h",
      "--max-epoch\n3\nstray\n--\n--dry-run\n--print-config",
      "--max-epochs",
      "=\n-\n---\n--=x\n--model.\n--model..class\nx",
  };
  return seeds;
}

}  // namespace levin::testing
