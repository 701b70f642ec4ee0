#include <levin/trainer/cli/flags.h>
#include <levin/trainer/cli/run_options.h>
#include <levin/trainer/core/error.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

namespace levin::cli {
namespace {

std::string with_dashes(std::string text) {
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

/// Help of one option: the first of its spellings, its default and its limits.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(44); }
  std::string make_option_name(const CLI::Option* option, bool /*is_positional*/) const override {
    return "--" + option->get_lnames().at(0);
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_type_name().empty() ? "" : " " + option->get_type_name();
  }
  std::string make_usage(const CLI::App* /*app*/, std::string name) const override {
    return "Usage: " + name + " --config FILE... [--FLAG VALUE...]\n";
  }
};

/// A short word for the kind of value.
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

std::string help_text(const Field& field, const Json& by_default) {
  const std::string limits = field.limits.to_text();
  std::string text = field.help;
  if (!limits.empty()) text += "; " + limits;
  if (!by_default.is_null())
    text += " [" + (by_default.is_string() ? by_default.get<std::string>() : by_default.dump()) + "]";
  return text;
}

/// Declares the flags of one command and collects what they are given.
class Declaration {
 public:
  Declaration(CLI::App& app, Flags& flags, const Json& config) : app_(app), flags_(flags), config_(config) {}

  void declare_general() {
    // Read already, by config_files_of; here for --help and so that its values are no strays.
    app_.add_option("--config", config_files_, "JSON files; they are merged, later ones win")
        ->type_name("FILE...")
        ->group("General");
    app_.add_option("--ckpt-path,--ckpt_path", flags_.ckpt_path, "Checkpoint to go on from: a file, last or best")
        ->type_name("FILE")
        ->group("General");
    for (const char* name : {"seed", "name"})
      declare(*schema_of<RunOptions>().find(name), {name}, {}, "General", {std::string("--") + name});
    app_.set_help_flag("--help,-h", "Show this text")->group("General");
  }

  void declare_trainer() {
    const Schema& schema = schema_of<TrainerOptions>();
    const Json defaults = schema.defaults();
    for (const Field& field : schema.fields()) {
      if (field.name == "seed" || field.name == "name") continue;  // general ones
      declare(field, {"trainer", field.name}, defaults[field.name], "Trainer",
              {"--" + with_dashes(field.name), "--" + field.name, "--trainer." + field.name});
    }
  }

  /// The flags of the class that the config chooses for "model" or "data".
  void declare_section(const char* section, const char* title) {
    const Field& field = *schema_of<RunOptions>().find(section);
    const Json chosen = config_.value(section, Json());
    const std::string group = std::string(title) + (class_of(chosen).empty() ? "" : " " + class_of(chosen));
    declare_class_flag({section}, *field.type, group);
    declare_inner({section}, *field.type, chosen, Json(), group);
  }

 private:
  static std::string class_of(const Json& part) {
    if (part.is_string()) return part.get<std::string>();
    const Json name = part.is_object() ? part.value("class", Json()) : Json();
    return name.is_string() ? name.get<std::string>() : "";
  }

  void declare_inner(const std::vector<std::string>& path, const OptionType& type, const Json& given,
                     const Json& by_default, const std::string& group) {
    std::string name = class_of(given);
    if (name.empty()) name = class_of(by_default);
    if (type.classes() && !name.empty()) type.classes()->at(name, join_path(dotted(path), "class"));
    const Schema* schema = type.inner(name);
    if (!schema) return;
    const Json defaults = type.classes() && name != class_of(by_default) ? schema->defaults() : by_default;
    for (const Field& field : schema->fields()) {
      std::vector<std::string> inner = path;
      inner.push_back(field.name);
      const Json inner_default = defaults.is_object() ? defaults.value(field.name, Json()) : Json();
      declare(field, inner, inner_default.is_object() ? inner_default.value("class", Json()) : inner_default, group,
              {"--" + dotted(inner), "--" + with_dashes(dotted(inner))});
      const Json inner_given = given.is_object() ? given.value(field.name, Json()) : Json();
      if (!field.type->inner(class_of(inner_given.is_null() ? inner_default : inner_given)) && !field.type->classes())
        continue;
      if (field.type->classes()) declare_class_flag(inner, *field.type, group);
      declare_inner(inner, *field.type, inner_given, inner_default, group);
    }
  }

  void declare_class_flag(std::vector<std::string> path, const OptionType& type, const std::string& group) {
    // The items of a list have no flags of their own.
    if (!type.classes() || dynamic_cast<const ListType*>(&type)) return;
    path.push_back("class");
    const Field field{.name = "class", .help = "Which " + type.classes()->noun(), .type = &type};
    declare(field, path, Json(), group, {"--" + dotted(path), "--" + with_dashes(dotted(path))});
  }

  /// One flag with its spellings.
  void declare(const Field& field, const std::vector<std::string>& path, const Json& by_default,
               const std::string& group, std::vector<std::string> spellings) {
    std::vector<std::string> unique;
    for (std::string& spelling : spellings)
      if (std::find(unique.begin(), unique.end(), spelling) == unique.end()) unique.push_back(std::move(spelling));
    std::string names;
    for (const std::string& spelling : unique) names += (names.empty() ? "" : ",") + spelling;
    const bool is_switch = field.type->is_switch();
    CLI::Option* option = app_.add_option_function<std::string>(
        names,
        [this, path, source = unique[0], is_switch](const std::string& text) {
          const bool bare = is_switch && (text.empty() || text == "{}");
          flags_.overrides.push_back({source, path, bare ? "true" : text});
        },
        help_text(field, by_default));
    option->type_name(value_word(*field.type, field.limits))->group(group)->take_last();
    if (is_switch) option->expected(0, 1);
  }

  CLI::App& app_;
  std::vector<std::string> config_files_ = {};
  Flags& flags_;
  const Json& config_;
};

[[noreturn]] void unknown_argument(const CLI::App& app, const std::string& argument) {
  if (argument.compare(0, 1, "-") != 0) throw UsageError("unexpected argument '", argument, "'; flags begin with --");
  const std::string flag = argument.substr(0, argument.find('='));
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options())
    if (!option->get_lnames().empty()) known.push_back("--" + option->get_lnames()[0]);
  throw UsageError(flag, ": no such flag", did_you_mean(flag, known));
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

Flags read_flags(const std::string& command, const std::vector<std::string>& arguments, const Json& config) {
  Flags flags;
  CLI::App app("", "levin " + command);
  app.formatter(std::make_shared<HelpFormatter>());
  app.allow_extras();
  Declaration declaration(app, flags, config);
  declaration.declare_general();
  declaration.declare_trainer();
  declaration.declare_section("model", "Model");
  declaration.declare_section("data", "Data");
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 takes them
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    flags.help = app.help();
    return flags;
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  if (const auto extras = app.remaining(); !extras.empty()) unknown_argument(app, extras[0]);
  return flags;
}

}  // namespace levin::cli
