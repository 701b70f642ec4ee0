#include <levin/program/commands/commands.h>
#include <levin/core/system/error.h>
#include <levin/core/system/joined.h>
#include <levin/program/cli/command_help.h>
#include <levin/program/cli/command_line.h>
#include <levin/program/cli/help_format.h>
#include <levin/program/config/run_options.h>

#include <algorithm>
#include <iostream>

namespace levin::cli {
namespace {

constexpr size_t kColumn = 18;  // of the summaries

bool asks_for_help(const std::string& word) { return word == "--help" || word == "-h"; }

/// Returns what --help shows of the flags of a config, those of the classes that the words name too.
std::string config_flags(const Command& command, Words words) {
  if (command.rest != Rest::ConfigFlags) return {};
  words.emplace_back("--help");
  return read_command_line(schema_of<RunOptions>(), command.name, words).flags.help;
}

int run(const Command& command, const Words& given) {
  const ParsedCommand parsed = parse_command(command, given);
  if (!parsed.asks_for_help) return command.run(parsed.flags.get(), parsed.words);
  std::cout << help_of(command, config_flags(command, parsed.words));
  return 0;
}

/// Runs the command of a group that the second word names.
int run_of_group(const std::vector<const Command*>& group, const Words& words) {
  std::vector<std::string> names;
  for (const Command* command : group) names.push_back(command->second_word());
  const std::string second = words.size() > 1 ? words[1] : "";
  for (const Command* command : group)
    if (command->second_word() == second) return run(*command, Words(words.begin() + 2, words.end()));
  if (!asks_for_help(second))
    throw UsageError("levin ", words[0], ": expected one of ", joined(names),
                     second.empty() ? "" : ", got " + second + did_you_mean(second, names));
  for (const Command* command : group) std::cout << (command == group[0] ? "" : "\n\n") << help_of(*command);
  return 0;
}

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> kAll = {fit_command(),
                                            validate_command(),
                                            test_command(),
                                            predict_command(),
                                            launch_command(),
                                            compile_command(),
                                            sweep_command(),
                                            export_command(),
                                            merge_command(),
                                            generate_command(),
                                            verify_resume_command(),
                                            profile_command(),
                                            config_show_command(),
                                            config_check_command(),
                                            config_explain_command(),
                                            config_schema_command(),
                                            config_docs_command(),
                                            data_inspect_command(),
                                            data_guess_command(),
                                            tokenize_command(),
                                            list_command(),
                                            ls_command(),
                                            compare_command(),
                                            report_command(),
                                            watch_command(),
                                            serve_command(),
                                            gc_command(),
                                            rm_command(),
                                            ckpt_ls_command(),
                                            ckpt_diff_command(),
                                            ckpt_verify_command(),
                                            ckpt_convert_command(),
                                            new_command(),
                                            man_command(),
                                            complete_command(),
                                            completion_command()};
  return kAll;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command& command : commands())
    if (command.rest != Rest::Anything && (names.empty() || names.back() != command.group()))
      names.push_back(command.group());
  return names;
}

std::vector<const Command*> commands_named(const std::string& word) {
  std::vector<const Command*> named;
  for (const Command& command : commands())
    if (command.group() == word) named.push_back(&command);
  if (!named.empty()) return named;
  const std::vector<std::string> names = command_names();
  throw UsageError("no command '", word, "'", did_you_mean(word, names), "; there are: ", joined(names));
}

std::string program_help() {
  const size_t width = help_width();
  std::string text =
      "levin trains LibTorch models.\n\nUsage: levin COMMAND [ARGUMENTS]; `levin COMMAND --help` says more\n\n";
  for (const Command& command : commands())
    if (command.rest != Rest::Anything) text += help_line(command.name, command.summary, kColumn);
  text += "\n";
  text += help_line("--plugin FILE COMMAND ...",
                    "Load a shared library first, whose callbacks, models, data and loggers a config then can name",
                    kColumn);
  text += help_line("--version", "Show the versions of levin, LibTorch, CUDA, NCCL and the compiler", kColumn);
  text += help_line("--cmake-prefix", "Print where levin is installed, for CMAKE_PREFIX_PATH of a project that uses it",
                    kColumn);
  text += help_line("--help", "Show this text", kColumn);
  return text + "\n" +
         wrapped(
             "Options come from config files, then LEVIN__SECTION__KEY in the environment, then flags; later ones win.",
             0, 0, width) +
         "\n";
}

int dispatch(const Words& words) {
  const std::vector<const Command*> named = commands_named(words[0]);
  if (named[0]->is_in_group()) return run_of_group(named, words);
  return run(*named[0], Words(words.begin() + 1, words.end()));
}

}  // namespace levin::cli
