#pragma once
#include <levin/program/cli/command.h>

#include <string>
#include <vector>

namespace levin::cli {

/// Returns all commands, in the order of --help.
const std::vector<Command>& commands();

/// Returns the first words of all commands that users see, in the order of --help: a group such as "ckpt" once.
std::vector<std::string> command_names();

/// Returns the commands whose name begins with the word: one, or those of a group. Throws UsageError for another word.
std::vector<const Command*> commands_named(const std::string& word);

/// Returns the text of `levin --help`.
std::string program_help();

/// Runs the command that the words name, one word or more, or prints its help. Returns the exit code. Throws UsageError
/// for wrong words, and what the command throws.
int dispatch(const Words& words);

/// Returns the text of `levin --version`.
std::string version_text();

// The commands. What throws UsageError says what to do.
Command fit_command();
Command validate_command();
Command test_command();
Command predict_command();
Command launch_command();
Command compile_command();
Command sweep_command();
Command export_command();
Command merge_command();
Command generate_command();
Command verify_resume_command();
Command profile_command();
Command config_show_command();
Command config_check_command();
Command config_explain_command();
Command config_schema_command();
Command config_docs_command();
Command data_inspect_command();
Command data_guess_command();
Command tokenize_command();
Command list_command();
Command ls_command();
Command compare_command();
Command report_command();
Command watch_command();
Command serve_command();
Command gc_command();
Command rm_command();
Command ckpt_ls_command();
Command ckpt_diff_command();
Command ckpt_verify_command();
Command ckpt_convert_command();
Command new_command();
Command man_command();
Command complete_command();
Command completion_command();

}  // namespace levin::cli
