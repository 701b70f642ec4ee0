#include <levin/core/system/error.h>
#include <levin/program/cli/command_line.h>
#include <levin/program/commands/commands.h>
#include <levin/program/config/explain.h>
#include <levin/program/config/run_options.h>
#include <levin/trainer/options/placement.h>

#include <iostream>
#include <nlohmann/json.hpp>

namespace levin::cli {
namespace {

/// Finds the origin of each value of a resolved config.
class Origins {
 public:
  Origins(const Config& config, const ReadOptions& options)
      : config_(config),
        trainer_(options.trainer),
        raw_(schema().get(&options.trainer)),
        resolved_(schema().get(&*options.resolved)) {}

  std::string of(const std::string& path) const {
    const std::vector<std::string> keys = keys_of(path);
    // The value was not written, but results from other options.
    if (keys.size() > 1 && keys[0] == "trainer" && raw_[keys[1]] != resolved_[keys[1]])
      for (const std::string& cause : causes_of(keys[1])) return "trainer." + cause + " (" + origin(cause) + ")";
    if (keys.back() == "class" && !config_.origins.count(path)) {
      // "AdamW" is short for {"class": "AdamW"}.
      const std::string part = path.substr(0, path.size() - std::string(".class").size());
      const Json* written = find_value(config_.values, keys_of(part));
      if (written && written->is_string()) return written_origin(config_, part);
    }
    return written_origin(config_, path);
  }

  /// Returns the config to explain. Early spellings, which `resolve` unsets, get their written values back.
  Json explained(Json config) const {
    for (const auto& item : config["trainer"].items())
      if (item.value().is_null() && !raw_[item.key()].is_null() && causes_of(item.key()).empty())
        item.value() = raw_[item.key()];
    return config;
  }

 private:
  static const Schema& schema() { return schema_of<TrainerOptions>(); }
  static Json resolved(const TrainerOptions& options) {
    const ResolvedOptions all = resolve_here(options);
    return schema().get(&*all);
  }

  std::string origin(const std::string& option) const { return written_origin(config_, "trainer." + option); }

  /// Returns the written options without which `option` would have another value.
  std::vector<std::string> causes_of(const std::string& option) const {
    std::vector<std::string> causes;
    const Json* written = find_value(config_.values, {"trainer"});
    if (!written) return causes;
    const Json defaults = schema().defaults();
    for (const auto& item : written->items()) {
      if (item.key() == option) continue;
      TrainerOptions without = trainer_;
      const Field& field = *schema().find(item.key());
      try {
        field.type->set(field.in(&without), item.key(), defaults[item.key()], field.limits);
        if (resolved(without)[option] != resolved_[option]) causes.push_back(item.key());
      } catch (const UsageError&) {
        // Without this option the others contradict each other, which says nothing about `option`.
      }
    }
    return causes;
  }

  const Config& config_;
  const TrainerOptions& trainer_;
  Json raw_, resolved_;
};

void print_explanation(const CommandLine& line, const ReadOptions& options) {
  const Origins origins(line.config, options);
  std::cout << explain(origins.explained(resolved_config(options)), [&](const std::string& path) {
    return origins.of(path);
  }) << std::flush;
}

int run_explain(const NoOptions& /*flags*/, const Words& words) {
  const CommandLine line = read_command_line(schema_of<RunOptions>(), "config explain", words);
  print_explanation(line, read_run_options(line.config));
  return 0;
}

}  // namespace

Command config_explain_command() {
  return make_command(
      {.name = "config explain",
       .summary =
           "Print each value of a config and where it comes from: a file's line, the environment, a flag, default",
       .rest = Rest::ConfigFlags},
      run_explain);
}

}  // namespace levin::cli
