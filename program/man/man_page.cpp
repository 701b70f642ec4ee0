#include <levin/program/man/man_page.h>
#include <levin/core/system/error.h>
#include <levin/core/system/version.h>
#include <levin/program/cli/command_help.h>
#include <levin/program/cli/flags.h>
#include <levin/program/commands/commands.h>
#include <levin/program/commands/run_module.h>
#include <levin/program/config/config_docs.h>
#include <levin/program/config/run_options.h>
#include <levin/program/man/roff.h>

#include <cctype>
#include <nlohmann/json.hpp>

namespace levin::cli {
namespace {

constexpr const char* kPrefix = "levin-";
constexpr const char* kMeaning = "train LibTorch models";

void write_exit_status(RoffPage& page) {
  page.section("Exit status");
  page.entry("0", "success");
  page.entry("1", "a failure while it ran");
  page.entry("2", "wrong arguments, configs, files or data; the message says what to do");
  page.entry("129, 130, 143", "a run that SIGHUP, SIGINT or SIGTERM ended after its current step");
}

std::string program_page() {
  RoffPage page("levin", "levin " + levin_version());
  page.section("Name");
  page.name_line("levin", kMeaning);
  page.section("Synopsis");
  page.command("levin COMMAND [ARGUMENTS]");
  page.section("Commands");
  for (const Command& command : commands())
    if (command.rest != Rest::Anything) page.entry(command.name, command.summary);
  page.section("Environment");
  page.entry("LEVIN__SECTION__KEY",
             "an option of a config: LEVIN__TRAINER__MAX_EPOCHS=3. It overrides files, and flags override it");
  page.entry("LEVIN_CACHE", "where downloads are kept, and data are looked for [~/.cache/levin]");
  write_exit_status(page);
  page.section("See also");
  std::string others;
  for (const std::string& name : man_page_names())
    if (name != "levin") others += (others.empty() ? "" : ", ") + name + "(1)";
  page.paragraph(others);
  return page.text();
}

/// The flags of a config, as its options describe themselves.
void write_config_flags(RoffPage& page, const Command& command) {
  page.section("Options");
  page.paragraph(
      "With --config, or with --model.class and --data.class, `levin " + command.name +
      " --help` shows the options of these classes too; `levin list models` and `levin list data` name the classes.");
  std::string group;
  for (const KnownFlag& flag : known_flags(schema_of<RunOptions>(), command.name, {}, Json::object())) {
    if (flag.group != group) page.subsection(flag.group);
    group = flag.group;
    page.entry(term_of(flag), flag.description);
  }
}

void write_command(RoffPage& page, const Command& command) {
  page.paragraph(command.summary + ".");
  for (const std::string& paragraph : paragraphs_of(command)) page.paragraph(paragraph);
  for (const KnownFlag& flag : own_flags(command)) page.entry(term_of(flag), flag.description);
}

std::string command_page(const std::string& word) {
  const std::vector<const Command*> named = commands_named(word);
  const bool is_group = named[0]->is_in_group();
  RoffPage page(kPrefix + word, "levin " + levin_version());
  page.section("Name");
  std::string meaning = named[0]->summary;
  for (size_t i = 1; i < named.size(); ++i) meaning += "; " + named[i]->summary;
  meaning[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(meaning[0])));
  page.name_line(kPrefix + word, meaning);
  page.section("Synopsis");
  for (const Command* command : named) page.command(usage_of(*command));
  page.section("Description");
  for (const Command* command : named) {
    if (is_group) page.subsection("levin " + command->name);
    write_command(page, *command);
  }
  if (is_run_command(word)) write_config_flags(page, *named[0]);
  write_exit_status(page);
  page.section("See also");
  page.paragraph("levin(1), levin-fit(1), levin-config(1), levin-list(1)");
  return page.text();
}

}  // namespace

std::vector<std::string> man_page_names() {
  std::vector<std::string> names = {"levin"};
  for (const std::string& command : command_names()) names.push_back(kPrefix + command);
  return names;
}

std::string man_page(const std::string& name) {
  if (name == "levin") return program_page();
  return command_page(name.starts_with(kPrefix) ? name.substr(std::string(kPrefix).size()) : name);
}

std::string commands_page() {
  std::string page =
      "# Commands\n\nMade by `levin man --docs` from the commands in the source; a test checks that it is current. The "
      "flags of\n"
      "fit, which many commands take, are in [configuration](config.md).\n";
  for (const Command& command : commands()) {
    if (command.rest == Rest::Anything) continue;
    page += "\n## levin " + command.name + "\n\n" + command.summary + ".\n\n```text\n" + usage_of(command) + "\n```\n";
    for (const std::string& paragraph : paragraphs_of(command)) page += "\n" + paragraph + "\n";
    const std::vector<KnownFlag> flags = own_flags(command);
    if (!flags.empty()) page += "\n| Flag | |\n|---|---|\n";
    for (const KnownFlag& flag : flags)
      page += "| `" + term_of(flag) + "` | " + markdown_cell(flag.description) + " |\n";
  }
  return page;
}

}  // namespace levin::cli
