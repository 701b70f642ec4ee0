#include <levin/core/system/error.h>
#include <levin/program/cli/command_help.h>
#include <levin/program/cli/command_line.h>
#include <levin/program/cli/flags.h>
#include <levin/program/commands/commands.h>
#include <levin/program/config/overrides.h>
#include <levin/program/config/run_options.h>

#include <algorithm>
#include <iostream>
#include <utility>

namespace levin::cli {
namespace {

/// What a word may become, each with its meaning.
using Candidates = std::vector<std::pair<std::string, std::string>>;

/// Joins what bash has split at "=".
Words rejoined(const Words& words) {
  Words all;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "=" && !all.empty() && all.back().starts_with("--")) {
      all.back() += "=";
      if (i + 1 < words.size()) all.back() += words[++i];
    } else {
      all.push_back(words[i]);
    }
  }
  return all;
}

/// Returns the config of the words before the last as far as it can be read: it chooses the classes, and these the
/// flags.
Json config_of(const Schema& schema, const Words& words) try {
  Config config = read_config_files(schema, config_files_of(words));
  apply(schema, config, likely_overrides(words));
  return config.values;
} catch (const UsageError&) {
  return Json::object();
}

/// Returns the flags of a command: its own, and those of the config that the words name.
std::vector<KnownFlag> flags_of(const Command& command, const Words& words) {
  std::vector<KnownFlag> flags = own_flags(command);
  if (!command.reads_config()) return flags;
  const Schema& schema = schema_of<RunOptions>();
  for (KnownFlag& flag : known_flags(schema, command.group(), words, config_of(schema, words)))
    flags.push_back(std::move(flag));
  return flags;
}

/// `words`: those behind the command's name.
Candidates flags_or_values(const Command& command, Words words) {
  const std::string last = words.back();
  words.pop_back();
  const std::vector<KnownFlag> flags = flags_of(command, words);
  const auto named = [&](const std::string& spelling) {
    return std::ranges::find(flags, spelling, &KnownFlag::spelling);
  };
  Candidates candidates;
  const size_t equals = last.find('=');
  if (last.starts_with("--") && equals == std::string::npos) {
    for (const KnownFlag& flag : flags) candidates.emplace_back(flag.spelling, flag.help);
    return candidates;
  }
  if (!last.starts_with("--") && words.empty()) return {};
  const auto flag = named(last.starts_with("--") ? last.substr(0, equals) : words.back());
  if (flag == flags.end()) return {};
  for (const std::string& value : flag->values) candidates.emplace_back(value, flag->help);
  return candidates;
}

Candidates first_words() {
  Candidates candidates;
  for (const std::string& name : command_names()) {
    const std::vector<const Command*> named = commands_named(name);
    candidates.emplace_back(name, named.size() == 1 ? named[0]->summary : "");
  }
  candidates.emplace_back("--help", "Show all commands");
  candidates.emplace_back("--version", "Show the versions of levin, LibTorch and the compiler");
  candidates.emplace_back("--cmake-prefix", "Print where levin is installed, for CMake");
  return candidates;
}

Candidates candidates_of(const Words& words) {
  if (words.size() == 1) return first_words();
  const std::vector<const Command*> named = commands_named(words[0]);
  const bool is_group = named[0]->is_in_group();
  Candidates candidates;
  if (is_group && words.size() == 2) {
    for (const Command* command : named) candidates.emplace_back(command->second_word(), command->summary);
    return candidates;
  }
  for (const Command* command : named) {
    if (is_group && command->second_word() != words[1]) continue;
    const Words rest(words.begin() + (is_group ? 2 : 1), words.end());
    if (command->operands != nullptr && rest.size() == 1 && !rest[0].starts_with("-"))
      for (const std::string& word : command->operands()) candidates.emplace_back(word, "");
    else
      candidates = flags_or_values(*command, rest);
  }
  return candidates;
}

int run_complete(const NoOptions& /*flags*/, const Words& arguments) try {
  Words words = rejoined(arguments);
  while (words.size() > 2 && words[0] == "--plugin") words.erase(words.begin(), words.begin() + 2);
  if (words.empty()) words.emplace_back();
  // Behind "--flag=" shells replace the value alone, or the whole word.
  const std::string& last = words.back();
  const bool is_whole = arguments.empty() || arguments.back() == last;
  const std::string flag = is_whole && last.starts_with("--") && last.find('=') != std::string::npos
                               ? last.substr(0, last.find('=') + 1)
                               : "";
  const std::string begun =
      last.starts_with("--") && last.find('=') != std::string::npos ? last.substr(last.find('=') + 1) : last;
  for (const auto& [word, help] : candidates_of(words))
    if (word.starts_with(begun)) std::cout << flag << word << '\t' << help << '\n';
  return 0;
} catch (const UsageError&) {
  return 0;  // a shell wants no message in the middle of a line
}

}  // namespace

Command complete_command() {
  return make_command({.name = "complete",
                       .summary = "Print what the last word, of which a part is typed, may become, for shells",
                       .usage = "WORD...",
                       .rest = Rest::Anything},
                      run_complete);
}

}  // namespace levin::cli
