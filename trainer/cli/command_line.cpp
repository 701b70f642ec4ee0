#include <levin/trainer/cli/command_line.h>
#include <levin/trainer/cli/config/config_file.h>
#include <levin/trainer/cli/config/problems.h>
#include <levin/trainer/cli/config/references.h>
#include <levin/trainer/core/system/error.h>

#include <iterator>
#include <utility>

namespace levin::cli {
namespace {

void append(std::vector<std::string>& list, std::vector<std::string> more) {
  std::move(more.begin(), more.end(), std::back_inserter(list));
}

void merge_file(const Schema& schema, Config& config, const Config& file) {
  try {
    merge(schema, config, file);
  } catch (const UsageError& error) {
    throw UsageError(with_place(file, error.what()));
  }
}

/// Merges all files; problems with files that cannot be read are appended to `problems`.
Config read_files(const Schema& schema, const std::vector<std::string>& files, std::vector<std::string>& problems) {
  Config config;
  for (const std::string& path : files) {
    try {
      Config file = read_config_file(path);
      lift_seed_and_name(file);
      merge_file(schema, config, file);
    } catch (const UsageError& error) {
      problems.push_back(error.what());
    }
  }
  return config;
}

}  // namespace

Config read_config_files(const Schema& schema, const std::vector<std::string>& files) {
  std::vector<std::string> problems;
  Config config = read_files(schema, files, problems);
  throw_problems(problems);
  return config;
}

void lift_seed_and_name(Config& config) {
  if (!config.values.contains("trainer") || !config.values["trainer"].is_object()) return;
  for (const std::string key : {"seed", "name"}) {
    const std::string path = "trainer." + key;
    const Json* inner = find_value(config.values, {"trainer", key});
    if (!inner) continue;
    const Json value = *inner;
    if (config.values.contains(key) && config.values[key] != value)
      throw UsageError(config.nearest_origin(path), ": ", key, " and ", path,
                       " contradict each other: ", config.values[key].dump(), " and ", value.dump());
    const std::string origin = config.nearest_origin(path);
    config.erase(path);
    config.values[key] = value;
    config.set_origin(key, value, origin);
  }
}

CommandLine read_command_line(const Schema& schema, const std::string& command,
                              const std::vector<std::string>& arguments) {
  CommandLine line{.files = config_files_of(arguments)};
  std::vector<std::string> problems;
  line.config = read_files(schema, line.files, problems);
  const std::vector<Override> environment = environment_overrides();
  std::vector<Override> classes = environment;
  for (Override& given : likely_overrides(arguments)) classes.push_back(std::move(given));
  Config with_classes = line.config;
  apply(schema, with_classes, std::move(classes));
  line.flags = read_flags(schema, command, arguments, with_classes.values);
  if (!line.flags.help.empty()) return line;
  // If a file is missing, further problems may only be due to that.
  throw_problems(problems);
  append(problems, line.flags.problems);
  append(problems, ambiguous_variables(environment));
  std::vector<Override> all = environment;
  all.insert(all.end(), line.flags.overrides.begin(), line.flags.overrides.end());
  append(problems, apply(schema, line.config, std::move(all)));
  append(problems, resolve_references(schema, line.config));
  append(problems, find_problems(schema, line.config));
  throw_problems(problems);
  return line;
}

}  // namespace levin::cli
