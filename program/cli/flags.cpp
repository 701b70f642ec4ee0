#include <levin/program/cli/flags.h>
#include <levin/core/system/error.h>
#include <levin/program/cli/flag_declaration.h>
#include <levin/program/cli/help_format.h>

#include <algorithm>

namespace levin::cli {
namespace {

/// Returns which flag was meant: a class's option without its path ("--lr"), a part without its class ("--data"), or
/// the one that is spelled most alike.
std::string flag_meant(const std::string& flag, const std::vector<std::string>& known) {
  std::string option = "." + flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
  std::replace(option.begin(), option.end(), '-', '_');
  std::vector<std::string> ends;
  for (const std::string& one : known) {
    if (one == flag + ".class") return " (did you mean " + one + "?)";
    if (option.size() > 1 && one.ends_with(option)) ends.push_back(one);
  }
  if (ends.empty()) return did_you_mean(flag, known);
  std::sort(ends.begin(), ends.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  return " (did you mean " + ends[0] + "?)";
}

/// Returns the problems with arguments that are neither flags nor values of flags. `has_unknown`: another problem may
/// explain arguments that look like values.
std::vector<std::string> unknown_arguments(const CLI::App& app, const std::vector<std::string>& without_flags,
                                           bool has_unknown) {
  const std::vector<std::string> extras = app.remaining();
  std::vector<std::string> known, problems;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames())
      if (name.back() != '+') known.push_back("--" + name);
  for (const std::string& argument : extras) {
    const std::string flag = argument.substr(0, argument.find('='));
    if (argument.rfind("-", 0) != 0) continue;
    has_unknown = true;
    const bool unknowable = std::any_of(without_flags.begin(), without_flags.end(),
                                        [&](const std::string& begin) { return argument.rfind(begin, 0) == 0; });
    if (!unknowable) problems.push_back(flag + ": no such flag" + flag_meant(flag, known));
  }
  // A stray value after an unknown flag is taken as that flag's value.
  if (!has_unknown && !extras.empty())
    problems.push_back(
        "unexpected argument '" + extras[0] + "'; " +
        (extras[0].ends_with(".json") ? "a config is given by --config " + extras[0] : "flags begin with --"));
  return problems;
}

}  // namespace

std::vector<std::string> config_files_of(const std::vector<std::string>& arguments) {
  const std::string flag = "--config", with_value = flag + "=";
  std::vector<std::string> files;
  bool follows = false;
  for (const std::string& argument : arguments) {
    const bool is_flag = argument.compare(0, 1, "-") == 0;
    if (argument.compare(0, with_value.size(), with_value) == 0) files.push_back(argument.substr(with_value.size()));
    if (follows && !is_flag) files.push_back(argument);
    if (is_flag) follows = argument == flag || argument.compare(0, with_value.size(), with_value) == 0;
  }
  return files;
}

Flags read_flags(const Schema& schema, const std::string& command, const std::vector<std::string>& arguments,
                 const Json& config) {
  Flags flags;
  CLI::App app("", "levin " + command);
  app.formatter(std::make_shared<HelpFormatter>());
  app.allow_extras();
  FlagDeclaration declaration(app, flags, schema, arguments, config, command);
  declaration.declare_all();
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // CLI11 parses from the back
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    flags.help = app.help();
    return flags;
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string what = error.what();
    flags.problems.push_back(what.substr(0, what.find(':')) + ": expected a value");
    return flags;
  } catch (const CLI::ParseError& error) {
    flags.problems.push_back(error.what());
    return flags;
  }
  for (std::string& problem : unknown_arguments(app, declaration.without_flags, !flags.problems.empty()))
    flags.problems.push_back(std::move(problem));
  return flags;
}

std::vector<KnownFlag> known_flags(const Schema& schema, const std::string& command,
                                   const std::vector<std::string>& arguments, const Json& config) {
  Flags flags;
  CLI::App app("", "levin " + command);
  FlagDeclaration declaration(app, flags, schema, arguments, config, command);
  declaration.declare_all();
  std::vector<KnownFlag> known;
  for (const CLI::Option* option : app.get_options()) {
    const std::string spelling = "--" + option->get_lnames()[0];
    if (option->get_group().empty()) continue;
    const auto found = std::ranges::find(declaration.options, spelling, &KnownFlag::spelling);
    if (found != declaration.options.end())
      known.push_back(*found);
    else
      known.push_back({spelling, option->get_description(), {}, option->get_expected_max() > 0});
    known.back().group = option->get_group();
    known.back().value = option->get_type_name();
    known.back().description = option->get_description();
  }
  return known;
}

}  // namespace levin::cli
