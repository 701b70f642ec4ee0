#include <levin/program/cli/flag_declaration.h>
#include <levin/core/options/class_list.h>
#include <levin/program/config/option_groups.h>

#include <algorithm>

namespace levin::cli {
namespace {

std::string with_dashes(std::string text) {
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

}  // namespace

void FlagDeclaration::declare_general() {
  // Already read by config_files_of. Declared for --help, and so that its values are not unknown arguments.
  app_.add_option("--config", config_files_, "JSON files; they are merged, later ones win")
      ->type_name("FILE...")
      ->group("General");
  app_.add_option("--ckpt-path,--ckpt_path", flags_.ckpt_path,
                  "Checkpoint to resume from: a file or its URL, a folder of a bucket, last or best")
      ->type_name("FILE")
      ->group("General");
  app_.add_flag("--print-config,--print_config", flags_.print_config,
                "Print the resolved config, as `levin config show` does, and end")
      ->group("General");
  app_.add_flag("--allow-python,--allow_python", flags_.allow_python,
                "Let config files name a PythonDataset, which runs a Python file; also LEVIN_ALLOW_PYTHON=1")
      ->group("General");
  for (const char* name : {"seed", "name"})
    if (const Field* field = schema_.find(name)) declare({name}, *field, {}, "General");
  app_.set_help_flag("--help,-h", "Show this text")->group("General");
}

void FlagDeclaration::declare_trainer() {
  const Schema& schema = *schema_.find("trainer")->type->inner("");
  const Json defaults = schema.defaults();
  for (const Field& field : schema.fields()) {
    if (field.name == "seed" || field.name == "name") continue;  // declared as general flags
    const Json given =
        config_.value("trainer", Json()).is_object() ? config_["trainer"].value(field.name, Json()) : Json();
    declare({"trainer", field.name}, field, defaults[field.name], group_of_option(field.name, command_));
    declare_items({"trainer", field.name}, field, given, defaults[field.name], "Trainer: items of " + field.name);
    if (field.type->is_list()) continue;
    if (!field.type->classes()) {
      declare_inner({"trainer", field.name}, *field.type, given, defaults[field.name],
                    group_of_option(field.name, command_));
      continue;
    }
    declare_class_flag({"trainer", field.name}, *field.type, "Trainer: options of " + field.name);
    declare_inner({"trainer", field.name}, *field.type, given, Json(), "Trainer: options of " + field.name);
  }
}

void FlagDeclaration::declare_section(const char* section, const char* title) {
  const Field& field = *schema_.find(section);
  const Json chosen = config_.value(section, Json());
  const std::string group = std::string(title) + (class_name_of(chosen).empty() ? "" : " " + class_name_of(chosen));
  declare_class_flag({section}, *field.type, group);
  declare_inner({section}, *field.type, chosen, Json(), group);
}

void FlagDeclaration::declare_all() {
  declare_general();
  declare_trainer();
  declare_section("model", "Model");
  declare_section("data", "Data");
}

void FlagDeclaration::declare_inner(const std::vector<std::string>& path, const OptionType& type, const Json& given,
                                    const Json& by_default, const std::string& group) {
  std::string name = class_name_of(given);
  if (name.empty()) name = class_name_of(by_default);
  const Schema* schema = type.inner(name);
  if (!schema && type.classes() && !name.empty()) without_flags.push_back("--" + dotted(path) + ".");
  if (!schema) return;
  const Json defaults = type.classes() && name != class_name_of(by_default) ? schema->defaults() : by_default;
  for (const Field& field : schema->fields()) {
    std::vector<std::string> inner = path;
    inner.push_back(field.name);
    const Json inner_default = defaults.is_object() ? defaults.value(field.name, Json()) : Json();
    declare(inner, field, inner_default.is_object() ? inner_default.value("class", Json()) : inner_default, group);
    const Json inner_given = given.is_object() ? given.value(field.name, Json()) : Json();
    declare_items(inner, field, inner_given, inner_default, group);
    if (!field.type->inner(class_name_of(inner_given.is_null() ? inner_default : inner_given)) &&
        !field.type->classes())
      continue;
    if (field.type->classes()) declare_class_flag(inner, *field.type, group);
    declare_inner(inner, *field.type, inner_given, inner_default, group);
  }
}

void FlagDeclaration::declare_class_flag(std::vector<std::string> path, const OptionType& type,
                                         const std::string& group) {
  if (!type.classes() || type.is_list()) return;
  path.push_back("class");
  const Field field{.name = "class", .help = "Which " + type.classes()->noun(), .type = &type};
  declare(path, field, Json(), group);
}

void FlagDeclaration::declare_items(const std::vector<std::string>& path, const Field& field, const Json& given,
                                    const Json& by_default, const std::string& group) {
  if (!field.type->is_list()) return;
  const OptionType& type = *field.type->item();
  Json items = given.is_null() ? by_default : given;
  if (items.is_object() || (items.is_string() && type.classes())) items = Json::array({items});
  for (size_t i = 0; items.is_array() && i < items.size(); ++i) {
    std::vector<std::string> inner = path;
    inner.push_back(std::to_string(i));
    if (!type.classes() && is_mentioned(inner))
      declare(inner, {.help = field.help, .limits = field.limits, .type = &type}, Json(), "");
    declare_class_flag(inner, type, group);
    declare_inner(inner, type, items[i], Json(), group);
  }
}

bool FlagDeclaration::is_mentioned(const std::vector<std::string>& path) const {
  const std::vector<std::string> spellings = spellings_of(path);
  return std::any_of(arguments_.begin(), arguments_.end(), [&](const std::string& argument) {
    return std::find(spellings.begin(), spellings.end(), argument.substr(0, argument.find('='))) != spellings.end();
  });
}

std::vector<std::string> FlagDeclaration::spellings_of(const std::vector<std::string>& path) {
  const std::string whole = dotted(path);
  const std::string brief = path[0] == "trainer" ? whole.substr(std::string("trainer.").size()) : whole;
  std::vector<std::string> spellings;
  for (const std::string& name : path[0] == "trainer"
                                     ? std::vector{with_dashes(brief), brief, whole, with_dashes(whole)}
                                     : std::vector{whole, with_dashes(whole)})
    if (std::find(spellings.begin(), spellings.end(), "--" + name) == spellings.end()) spellings.push_back("--" + name);
  return spellings;
}

void FlagDeclaration::declare(const std::vector<std::string>& path, const Field& field, const Json& by_default,
                              const std::string& group) {
  const std::vector<std::string> spellings = spellings_of(path);
  CLI::Option* const option = add(path, field, spellings, /*adds=*/false);
  const KnownFlag& known = options.emplace_back(describe_flag(spellings[0], field, by_default));
  option->description(known.description)->type_name(known.value)->group(group);
  if (!field.type->is_list()) return;
  std::vector<std::string> adding = spellings;
  for (std::string& spelling : adding) spelling += "+";
  add(path, field, adding, /*adds=*/true)->group("");
}

CLI::Option* FlagDeclaration::add(const std::vector<std::string>& path, const Field& field,
                                  const std::vector<std::string>& spellings, bool adds) {
  std::string names;
  for (const std::string& spelling : spellings) names += (names.empty() ? "" : ",") + spelling;
  const bool is_switch = field.type->is_switch(), is_list = field.type->is_list();
  CLI::Option* const option =
      app_.add_option(names, [this, path, spellings, is_switch, is_list, adds](const CLI::results_t& texts) {
        if (texts.empty()) take(path, as_spelled(spellings), "", is_switch, adds);
        for (size_t i = 0; i < texts.size(); ++i) take(path, as_spelled(spellings), texts[i], is_switch, adds || i > 0);
        return true;
      });
  option->allow_extra_args(false);
  option->expected(is_switch ? 0 : 1, 1)
      ->multi_option_policy(is_list ? CLI::MultiOptionPolicy::TakeAll : CLI::MultiOptionPolicy::TakeLast);
  return option;
}

void FlagDeclaration::take(const std::vector<std::string>& path, const std::string& flag, const std::string& text,
                           bool is_switch, bool adds) {
  const bool bare = is_switch && (text.empty() || text == "{}");
  const bool follows = std::find(arguments_.begin(), arguments_.end(), flag + "=" + text) == arguments_.end();
  if (text.rfind("--", 0) == 0 && follows)
    flags_.problems.push_back(flag + ": expected a value, got " + text);
  else
    flags_.overrides.push_back({flag, path, bare ? "true" : text, adds});
}

std::string FlagDeclaration::as_spelled(const std::vector<std::string>& spellings) const {
  for (auto argument = arguments_.rbegin(); argument != arguments_.rend(); ++argument)
    for (const std::string& spelling : spellings)
      if (argument->substr(0, argument->find('=')) == spelling) return spelling;
  return spellings[0];
}

}  // namespace levin::cli
