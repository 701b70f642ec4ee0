#include <levin/core/options/value_type.h>
#include <levin/program/cli/command.h>

#include <CLI/CLI.hpp>
#include <algorithm>

namespace levin::cli {
namespace {

std::string says_more(const Command& command) { return "; `levin " + command.name + " --help` says more"; }

/// Declares the flags of one command, whose values go into `into`.
class OwnFlags {
 public:
  OwnFlags(CLI::App& app, const Command& command, const Words& words, void* into)
      : app_(app), words_(words), into_(into), takes_lists_(command.reads_config()) {
    for (const Field& flag : command.flags->fields()) declare(flag);
  }

 private:
  void declare(const Field& flag) {
    const std::string name = spelling_of(flag);
    std::string names = name, with_underscores = name;
    std::replace(with_underscores.begin() + 2, with_underscores.end(), '-', '_');
    if (with_underscores != name) names += "," + with_underscores;
    if (flag.type->is_switch()) {
      app_.add_flag(names)->each([this, &flag](const std::string& text) { set(flag, text); });
      return;
    }
    // Among operands, the word behind a value is an operand.
    const bool takes_list = flag.type->is_list() && takes_lists_;
    app_.add_option_function<std::vector<std::string>>(
            names, [this, &flag](const std::vector<std::string>& texts) { set_all(flag, texts); })
        ->expected(1, takes_list ? CLI::detail::expected_max_vector_size : 1)
        ->allow_extra_args(takes_list)
        ->multi_option_policy(flag.type->is_list() ? CLI::MultiOptionPolicy::TakeAll
                                                   : CLI::MultiOptionPolicy::TakeLast);
  }

  void set(const Field& flag, const std::string& text) {
    const std::string name = spelling_of(flag);
    const bool is_joined = std::ranges::find(words_, name + "=" + text) != words_.end();
    if (text.starts_with("--") && !is_joined) throw UsageError(name, ": expected a value, got ", text);
    flag.type->set(flag.in(into_), name, flag.type->from_text(text), flag.limits);
  }

  void set_all(const Field& flag, const std::vector<std::string>& texts) {
    if (!flag.type->is_list()) return set(flag, texts.back());
    Json list = Json::array();
    for (const std::string& text : texts) list.push_back(flag.type->item()->from_text(text));
    flag.type->set(flag.in(into_), spelling_of(flag), list, flag.limits);
  }

  CLI::App& app_;
  const Words& words_;
  void* into_;
  bool takes_lists_;
};

/// Throws UsageError for a word that looks like a flag: the command has none of that name.
void refuse_flag(const Command& command, const std::string& word) {
  if (word.size() < 2 || word[0] != '-') return;
  std::vector<std::string> known = {"--help"};
  for (const Field& field : command.flags->fields()) known.push_back(spelling_of(field));
  const std::string name = word.substr(0, word.find('='));
  throw UsageError("levin ", command.name, ": no flag ", name, did_you_mean(name, known), says_more(command));
}

/// Checks operands, and removes the "--" behind which words are operands even if they begin with "-".
void check_operands(const Command& command, Words& words) {
  const auto mark = std::ranges::find(words, "--");
  for (auto word = words.begin(); word != mark; ++word) refuse_flag(command, *word);
  if (mark != words.end()) words.erase(mark);
  if (words.size() >= command.least && words.size() <= command.most) return;
  std::string given;
  for (const std::string& word : words) given += (given.empty() ? ", got " : " ") + word;
  throw UsageError("levin ", command.name, ": expected ", command.most == 0 ? "no words" : command.usage, given,
                   says_more(command));
}

}  // namespace

std::string spelling_of(const Field& flag) {
  std::string name = flag.name.substr(0, flag.name.find_last_not_of('_') + 1);
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

ParsedCommand parse_command(const Command& command, const Words& words) {
  ParsedCommand parsed{.flags = command.flags->make(), .words = words};
  if (command.rest == Rest::Anything) return parsed;
  CLI::App app("", "levin " + command.name);
  app.set_help_flag();
  app.add_flag("--help,-h", parsed.asks_for_help);
  app.allow_extras();
  if (command.rest == Rest::Command) app.prefix_command();
  const OwnFlags flags(app, command, words, parsed.flags.get());
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // CLI11 parses from the back
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    const std::string what = error.what();
    throw UsageError(what.substr(0, what.find(':')), ": expected a value", says_more(command));
  }
  parsed.words = app.remaining();
  if (parsed.asks_for_help) return parsed;
  if (command.rest == Rest::Operands) check_operands(command, parsed.words);
  if (command.rest == Rest::Command && !parsed.words.empty()) refuse_flag(command, parsed.words[0]);
  return parsed;
}

}  // namespace levin::cli
