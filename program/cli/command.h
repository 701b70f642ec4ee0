#pragma once
#include <levin/core/options/option.h>

#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace levin::cli {

using Words = std::vector<std::string>;

/// Any number of operands.
inline constexpr size_t kAnyNumber = std::numeric_limits<size_t>::max();

/// What the words of a command line are that are none of the command's own flags.
enum class Rest {
  Operands,     ///< files, folders, names
  ConfigFlags,  ///< --config and the flags of a config's options, which --help shows
  FitFlags,     ///< the same, and --help says that they are those of fit
  Command,      ///< from the first operand on: another command with its flags
  Anything,     ///< all words, flags too; the command is not shown to users
};

/// What a command is, apart from its flags and what it does.
struct CommandText {
  std::string name = {};     ///< one word, or two of which the first names a group: "ckpt ls"
  std::string summary = {};  ///< what it does, in a line without a full stop
  std::string usage = {};    ///< the words behind the name: "RUN RUN"; its flags are added, but for those named here
  std::string about = {};    ///< for --help, below the usage: paragraphs, with an empty line between two
  Rest rest = Rest::Operands;
  size_t least = 0, most = 0;                        ///< number of operands
  std::map<std::string, std::string> values = {};    ///< what --help calls a flag's value: {"out", "FILE"}
  std::vector<std::string> (*operands)() = nullptr;  ///< words that the operand may be, if there are few
};

/// A command of the program, as the parser, --help, manual pages, completion and docs/commands.md see it.
struct Command : CommandText {
  const Schema* flags = nullptr;  ///< its own flags, which are options of no config
  /// Runs it with values of `flags` and the other words; returns the exit code.
  std::function<int(const void* values, const Words& words)> run = {};

  bool reads_config() const { return rest == Rest::ConfigFlags || rest == Rest::FitFlags; }
  /// Returns the first word of the name.
  std::string group() const { return name.substr(0, name.find(' ')); }
  bool is_in_group() const { return name.find(' ') != std::string::npos; }
  /// Returns the second word of the name; empty if there is one.
  std::string second_word() const { return is_in_group() ? name.substr(name.find(' ') + 1) : ""; }
};

/// Makes a command whose flags are the options of the struct `Flags`: `on_gpus` is --on-gpus, and `template_`, whose
/// name would be a word of C++, is --template.
template <class Flags>
Command make_command(CommandText text, int (*run)(const Flags& flags, const Words& words)) {
  return {std::move(text), &schema_of<Flags>(),
          [run](const void* flags, const Words& words) { return run(*static_cast<const Flags*>(flags), words); }};
}

/// Returns the spelling of a flag: "--on-gpus".
std::string spelling_of(const Field& flag);

/// A command line whose flags are read.
struct ParsedCommand {
  std::shared_ptr<void> flags = {};  ///< values of the command's own flags
  Words words = {};                  ///< the others
  bool asks_for_help = false;        ///< then nothing is checked
};

/// Reads a command's own flags out of the words behind its name. Throws UsageError for a value that a flag does not
/// take; and, unless the words that are left belong to a config or another command, for unknown flags and a wrong
/// number of operands.
ParsedCommand parse_command(const Command& command, const Words& words);

}  // namespace levin::cli
