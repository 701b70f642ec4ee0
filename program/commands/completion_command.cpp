#include <levin/core/system/error.h>
#include <levin/program/cli/command_line.h>
#include <levin/program/cli/flags.h>
#include <levin/program/cli/take_flag.h>
#include <levin/program/commands/commands.h>
#include <levin/program/config/overrides.h>

#include <algorithm>
#include <iostream>
#include <map>

namespace levin::cli {
namespace {

using Words = std::vector<std::string>;
/// What a word may become, each with its meaning.
using Candidates = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kBash = R"shell(# Completion of levin in bash: source <(levin completion bash)
_levin() {
  local IFS=$'\n' word=${COMP_WORDS[COMP_CWORD]}
  [[ $word == = ]] && word=
  COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1)" -- "$word"))
  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *. ]] && compopt -o nospace
}
complete -o default -F _levin levin
)shell";

constexpr const char* kZsh = R"shell(#compdef levin
# Completion of levin in zsh: source <(levin completion zsh), or a file _levin in a folder of $fpath
_levin() {
  local -a described
  local line
  for line in "${(@f)$("${words[1]}" complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  (( ${#described} )) && _describe levin described || _files
}
if [[ $funcstack[1] == _levin ]]; then _levin "$@"; else compdef _levin levin; fi
)shell";

constexpr const char* kFish = R"shell(# Completion of levin in fish: levin completion fish | source
complete -c levin -a '(set -l words (commandline -opc) (commandline -ct); $words[1] complete $words[2..] 2>/dev/null)'
)shell";

/// Joins what bash has split at "=".
Words joined(const Words& words) {
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

bool takes_config(const Words& words) {
  static const Words kCommands = {"fit",     "validate", "test",    "predict", "sweep",
                                  "compile", "launch",   "profile", "export",  "verify-resume"};
  if (words[0] == "data" && words.size() > 2 && words[1] == "guess") return false;
  if (words[0] == "config" || words[0] == "data") return words.size() > 2;
  return std::ranges::find(kCommands, words[0]) != kCommands.end();
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

Candidates flags_or_values(Words words) {
  const std::string last = words.back();
  words.pop_back();
  const Schema& schema = schema_of<RunOptions>();
  const std::vector<KnownFlag> flags = known_flags(schema, words[0], words, config_of(schema, words));
  const auto named = [&](const std::string& spelling) {
    return std::ranges::find(flags, spelling, &KnownFlag::spelling);
  };
  Candidates candidates;
  const size_t equals = last.find('=');
  if (last.starts_with("--") && equals == std::string::npos) {
    for (const KnownFlag& flag : flags) candidates.emplace_back(flag.spelling, flag.help);
    return candidates;
  }
  const auto flag = named(last.starts_with("--") ? last.substr(0, equals) : words.back());
  if (flag == flags.end()) return {};
  for (const std::string& value : flag->values) candidates.emplace_back(value, flag->help);
  return candidates;
}

Candidates candidates_of(const Words& words) {
  static const std::map<std::string, Words> kNext = {{"config", {"show", "check", "explain", "schema", "docs"}},
                                                     {"data", {"inspect", "guess"}},
                                                     {"ckpt", {"ls", "diff", "verify", "convert"}},
                                                     {"completion", {"bash", "zsh", "fish"}},
                                                     {"list", list_kinds()},
                                                     {"man", command_names()}};
  Candidates candidates;
  if (words.size() == 1) {
    for (const std::string& name : command_names()) candidates.emplace_back(name, "");
    candidates.emplace_back("--help", "Show all commands");
    candidates.emplace_back("--version", "Show the versions of levin, LibTorch and the compiler");
    candidates.emplace_back("--cmake-prefix", "Print where levin is installed, for CMake");
    return candidates;
  }
  if (const auto next = kNext.find(words[0]); next != kNext.end() && words.size() == 2)
    for (const std::string& word : next->second) candidates.emplace_back(word, "");
  else if (takes_config(words))
    candidates = flags_or_values(words);
  return candidates;
}

}  // namespace

void complete_command(const std::vector<std::string>& arguments) try {
  Words words = joined(arguments);
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
  std::cout.flush();
} catch (const UsageError&) {
  // A shell wants no message in the middle of a line.
}

void completion_command(const std::vector<std::string>& arguments) {
  const std::string shell = arguments.size() == 1 ? arguments[0] : "";
  if (shell == "bash")
    std::cout << kBash;
  else if (shell == "zsh")
    std::cout << kZsh;
  else if (shell == "fish")
    std::cout << kFish;
  else
    throw UsageError("levin completion: expected bash, zsh or fish");
  std::cout.flush();
}

}  // namespace levin::cli
