#include <levin/program/cli/command_line.h>
#include <levin/core/system/error.h>
#include <levin/program/cli/python_in_config.h>
#include <levin/program/config/config_file.h>
#include <levin/program/config/problems.h>
#include <levin/program/config/references.h>

#include <iterator>
#include <utility>

namespace levin::cli {
namespace {

void append(std::vector<std::string>& list, std::vector<std::string> more) {
  std::move(more.begin(), more.end(), std::back_inserter(list));
}

/// Merges all files; problems with files that cannot be read are appended to `problems`.
Config read_files(const Schema& schema, const std::vector<std::string>& files, std::vector<std::string>& problems) {
  Config config;
  for (const std::string& path : files) {
    try {
      merge_file(schema, config, read_config_file(schema, path));
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
  if (line.flags.allow_python) allow_python();
  const bool runs_nothing = command.starts_with("config") || line.flags.print_config;
  if (!runs_nothing && !python_is_allowed()) throw_problems(python_in_files(line.config));
  return line;
}

}  // namespace levin::cli
