#include <levin/program/cli/flags.h>
#include <levin/core/options/class_list.h>
#include <levin/core/system/error.h>
#include <levin/program/cli/flag_declaration.h>
#include <levin/program/cli/help_format.h>

#include <algorithm>

namespace levin::cli {
namespace {

/// Returns which class of a part of the trainer has the option that a flag names, if the class is not chosen:
/// "--bucket-cap-mb" and "--strategy.bucket_cap_mb" are of ddp and zero1.
std::string class_meant(const Schema& schema, const std::string& flag) {
  std::string option = flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
  std::ranges::replace(option, '-', '_');
  for (const Field& part : schema.find("trainer")->type->inner("")->fields()) {
    const ClassList* const classes = part.type->is_list() ? nullptr : part.type->classes();
    if (classes == nullptr) continue;
    const std::string name = option.substr(option.rfind('.') + 1);  // the whole without a dot
    std::string of;
    for (const ClassInfo& info : classes->classes())
      if (info.schema().find(name) != nullptr) of += (of.empty() ? "" : ", ") + info.name;
    if (!of.empty())
      return " (an option of " + of + ": --" + part.name + " " + of.substr(0, of.find(',')) + " --" + part.name + "." +
             name + ")";
  }
  return {};
}

/// Returns which flag was meant: a class's option without its path ("--lr"), a part without its class ("--data"), an
/// option of a class that is not chosen, or the one that is spelled most alike.
std::string flag_meant(const Schema& schema, const std::string& flag, const std::vector<std::string>& known) {
  std::string option = "." + flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
  std::replace(option.begin(), option.end(), '-', '_');
  std::vector<std::string> ends;
  for (const std::string& one : known) {
    if (one == flag + ".class") return " (did you mean " + one + "?)";
    if (option.size() > 1 && one.ends_with(option)) ends.push_back(one);
  }
  if (ends.empty()) {
    const std::string of_class = class_meant(schema, flag);
    return of_class.empty() ? did_you_mean(flag, known) : of_class;
  }
  std::sort(ends.begin(), ends.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  return " (did you mean " + ends[0] + "?)";
}

/// Returns the problems with arguments that are neither flags nor values of flags. `has_unknown`: another problem may
/// explain arguments that look like values.
std::vector<std::string> unknown_arguments(const CLI::App& app, const Schema& schema,
                                           const std::vector<std::string>& without_flags, bool has_unknown) {
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
    if (!unknowable) problems.push_back(flag + ": no such flag" + flag_meant(schema, flag, known));
  }
  // A stray value after an unknown flag is taken as that flag's value.
  if (!has_unknown && !extras.empty())
    problems.push_back(
        "unexpected argument '" + extras[0] + "'; " +
        (extras[0].ends_with(".json") ? "a config is given by --config " + extras[0] : "flags begin with --"));
  return problems;
}

/// Returns a short word for the kind of value.
std::string value_word(const OptionType& type, const Limits& limits) {
  if (type.is_switch()) return "[BOOL]";
  if (type.classes()) return "CLASS";
  if (!limits.choices.empty()) return "WORD";
  const std::string expected = type.expected();
  if (expected == "a whole number") return "INT";
  if (expected == "a number") return "NUMBER";
  if (expected == "text") return "TEXT";
  return "VALUE";
}

/// Returns the words among the values of an option.
std::vector<std::string> words_of(const Field& field) {
  const OptionType& type = field.type->is_list() ? *field.type->item() : *field.type;
  if (type.classes()) return type.classes()->names();
  std::vector<std::string> words;
  for (const std::string& choice : field.limits.choices)
    if (!choice.empty()) words.push_back(choice);
  if (words.empty() && type.is_switch()) words = {"true", "false"};
  return words;
}

std::string description_of(const Field& field, const Json& by_default) {
  const std::string limits = field.limits.to_text();
  std::string text = field.help;
  if (!limits.empty()) text += "; " + limits;
  if (!by_default.is_null())
    text += " [" + (by_default.is_string() ? by_default.get<std::string>() : by_default.dump()) + "]";
  return text;
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
  for (std::string& problem : unknown_arguments(app, schema, declaration.without_flags, !flags.problems.empty()))
    flags.problems.push_back(std::move(problem));
  return flags;
}

KnownFlag describe_flag(const std::string& spelling, const Field& field, const Json& by_default) {
  return {.spelling = spelling,
          .help = field.help,
          .values = words_of(field),
          .needs_value = !field.type->is_switch(),
          .value = value_word(*field.type, field.limits),
          .description = description_of(field, by_default)};
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
      known.push_back({.spelling = spelling,
                       .help = option->get_description(),
                       .needs_value = option->get_expected_max() > 0,
                       .value = option->get_type_name(),
                       .description = option->get_description()});
    known.back().group = option->get_group();
  }
  return known;
}

}  // namespace levin::cli
