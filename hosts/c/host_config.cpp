#include <levin/hosts/c/host_config.h>
#include <levin/core/device/own_generator.h>
#include <levin/hosts/c/status.h>
#include <levin/program/cli/load_plugin.h>
#include <levin/program/config/config_file.h>
#include <levin/program/config/config_text.h>
#include <levin/program/config/overrides.h>
#include <levin/program/config/problems.h>
#include <levin/program/config/references.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace levin::c {
namespace {

/// The options of a host by default, as a config: where `embedded` differs from what a program has.
cli::Config embedded_config() {
  const TrainerOptions plain, embedded = TrainerOptions::embedded();
  const Json of_plain = schema_of<TrainerOptions>().get(&plain),
             of_embedded = schema_of<TrainerOptions>().get(&embedded);
  cli::Config config;
  for (const auto& [key, value] : of_embedded.items())
    if (of_plain.at(key) != value) config.values["trainer"][key] = value;
  return config;
}

/// Splits "trainer.max_steps=100".
cli::Override override_of(const char* text, size_t place) {
  given(text, "an option of the config");
  const std::string whole = text;
  const size_t equals = whole.find('=');
  if (equals == std::string::npos || equals == 0)
    throw UsageError("options[", place, "]: expected path=value, as trainer.max_steps=100, got ", whole);
  return {.source = "options[" + std::to_string(place) + "] (" + whole.substr(0, equals) + ")",
          .path = cli::split(whole.substr(0, equals), "."),
          .text = whole.substr(equals + 1)};
}

void append(std::vector<std::string>& list, const std::vector<std::string>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

}  // namespace

cli::Config read_config(const levin_config& config) {
  sized(&config, "the config");
  if (config.plugin_count > 0) given(config.plugins, "config.plugins");
  for (size_t i = 0; i < config.plugin_count; ++i) {
    given(config.plugins[i], "a plugin of the config");
    cli::load_plugin(config.plugins[i]);
  }
  const Schema& schema = schema_of<cli::RunOptions>();
  cli::Config read = embedded_config();
  if (config.file != nullptr) cli::merge_file(schema, read, cli::read_config_file(schema, config.file));
  if (config.text != nullptr) {
    cli::Config text = cli::parse_config("config", config.text);
    cli::lift_seed_and_name(text);
    cli::merge_file(schema, read, text);
  }
  std::vector<cli::Override> options;
  if (config.option_count > 0) given(config.options, "config.options");
  for (size_t i = 0; i < config.option_count; ++i) options.push_back(override_of(config.options[i], i));
  std::vector<std::string> problems = cli::apply(schema, read, std::move(options));
  append(problems, cli::resolve_references(schema, read));
  append(problems, cli::find_problems(schema, read));
  cli::throw_problems(problems);
  return read;
}

std::chrono::milliseconds timeout_of(const cli::Config& config) {
  const auto trainer = config.values.find("trainer");
  const double seconds = trainer == config.values.end()
                             ? TrainerOptions().timeout_seconds
                             : trainer->value("timeout_seconds", TrainerOptions().timeout_seconds);
  constexpr double kMost = 1e9;
  return std::chrono::milliseconds(static_cast<int64_t>(1000 * std::min(seconds, kMost)));
}

cli::ReadOptions read_host_config(const levin_config& config) {
  return cli::read_run_options(read_config(config), /*ranks=*/std::nullopt);
}

std::shared_ptr<LightningModule> make_model(const cli::ReadOptions& options) {
  if (!options.model) throw UsageError("model.class: missing; name the module");
  std::optional<at::Generator> own;
  if (options.seed) own = make_generator(static_cast<uint64_t>(*options.seed));
  const GeneratorScope generator(own);
  return options.model.make("model");
}

}  // namespace levin::c
