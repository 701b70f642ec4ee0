#include <levin/program/man/man_page.h>
#include <levin/core/system/error.h>
#include <levin/core/system/version.h>
#include <levin/program/cli/flags.h>
#include <levin/program/commands/commands.h>
#include <levin/program/man/help_text.h>
#include <levin/program/man/roff.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>
#include <utility>

namespace levin::cli {
namespace {

constexpr const char* kPrefix = "levin-";
constexpr const char* kMeaning = "train LibTorch models";

/// Returns whether an entry of the program's help is about a command: "fit, validate --config FILE" is about both.
bool is_about(const HelpEntry& entry, const std::string& command) {
  std::istringstream words(entry.term);
  for (std::string word; words >> word;) {
    const bool more = word.ends_with(',');
    if (more) word.pop_back();
    if (word == command) return true;
    if (!more) return false;
  }
  return false;
}

std::vector<HelpEntry> entries_about(const std::string& command) {
  std::vector<HelpEntry> entries = divide_help(program_help()).parts;
  std::erase_if(entries, [&](const HelpEntry& entry) { return !is_about(entry, command); });
  return entries;
}

/// Returns a command's meaning in a few words.
std::string meaning_of(const std::string& command, const std::vector<HelpEntry>& entries) {
  static const std::map<std::string, std::string> kRuns = {{"fit", "train a module"},
                                                           {"validate", "run a module on its validation data"},
                                                           {"test", "run a module on its test data"},
                                                           {"predict", "write what a module predicts"}};
  if (const auto run = kRuns.find(command); run != kRuns.end()) return run->second;
  std::string text = entries.empty() ? "a command of levin" : entries.front().text;
  text = text.substr(0, text.find_first_of(";:"));
  text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

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
  for (const HelpEntry& part : divide_help(program_help()).parts)
    if (!part.term.empty()) page.entry(part.term, part.text);
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

/// The flags of fit, validate, test and predict, as their options describe themselves.
void write_run_flags(RoffPage& page, const std::string& command) {
  page.section("Options");
  page.paragraph(
      "With --config, or with --model.class and --data.class, `levin " + command +
      " --help` shows the options of these classes too; `levin list models` and `levin list data` name the classes.");
  std::string group;
  for (const KnownFlag& flag : known_flags(schema_of<RunOptions>(), command, {}, Json::object())) {
    if (flag.group != group) page.subsection(flag.group);
    group = flag.group;
    page.entry(flag.spelling + (flag.value.empty() ? "" : " " + flag.value), flag.description);
  }
}

void write_own_help(RoffPage& page, const HelpText& help) {
  for (const HelpEntry& part : help.parts)
    if (part.term.empty()) page.paragraph(part.text);
  const auto is_entry = [](const HelpEntry& part) { return !part.term.empty(); };
  if (std::ranges::none_of(help.parts, is_entry)) return;
  page.section("Options");
  for (const HelpEntry& part : help.parts)
    if (is_entry(part)) page.entry(part.term, part.text);
}

/// Returns the help of a command that begins by saying what it does; verify-resume and others show the flags of fit.
HelpText own_help(const std::string& command) {
  if (is_run_command(command)) return {};
  const std::string help = help_of(command);
  return help.starts_with("levin ") ? divide_help(help) : HelpText();
}

std::string command_page(const std::string& command) {
  const std::vector<HelpEntry> entries = entries_about(command);
  const HelpText help = own_help(command);
  RoffPage page(kPrefix + command, "levin " + levin_version());
  page.section("Name");
  page.name_line(kPrefix + command, meaning_of(command, entries));
  page.section("Synopsis");
  if (!help.usage.empty())
    for (const std::string& usage : help.usage) page.command(usage);
  else if (is_run_command(command))
    page.command("levin " + command + " --config FILE... [--FLAG VALUE...]");
  else
    for (const HelpEntry& entry : entries) page.command("levin " + entry.term);
  page.section("Description");
  for (const HelpEntry& entry : entries) page.entry(entry.term, entry.text);
  write_own_help(page, help);
  if (is_run_command(command)) write_run_flags(page, command);
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
  const std::vector<std::string> names = command_names();
  const std::string command = name.starts_with(kPrefix) ? name.substr(std::string(kPrefix).size()) : name;
  if (std::ranges::find(names, command) == names.end())
    throw UsageError("levin man: no command '", command, "'", did_you_mean(command, names),
                     "; `levin --help` shows all");
  return command_page(command);
}

}  // namespace levin::cli
