#include <levin/core/state/atomic_file.h>
#include <levin/core/system/error.h>
#include <levin/program/cli/take_flag.h>
#include <levin/program/commands/commands.h>
#include <levin/program/man/man_page.h>

#include <filesystem>
#include <iostream>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManHelp =
    R"(levin man prints a manual page, for `man -l -`; without a COMMAND that of the program.

Usage: levin man [COMMAND] [--output FOLDER]

  --output FOLDER   Write all pages into this folder, levin.1, levin-fit.1 and so on. An installed levin has them already
)";

}  // namespace

void man_command(std::vector<std::string> arguments) {
  if (take_switch(arguments, "--help")) {
    std::cout << kManHelp << std::flush;
    return;
  }
  const auto folder = take_flag(arguments, "--output");
  if (arguments.size() > (folder ? 0 : 1))
    throw UsageError("levin man: expected ", folder ? "a folder alone" : "one command",
                     "; `levin man --help` says more");
  if (!folder) {
    std::cout << man_page(arguments.empty() ? "levin" : arguments[0]) << std::flush;
    return;
  }
  std::error_code error;
  fs::create_directories(*folder, error);
  if (error) throw UsageError("--output: ", *folder, " cannot be made: ", error.message());
  for (const std::string& name : man_page_names())
    write_text_file_atomically(fs::path(*folder) / (name + ".1"), man_page(name));
}

}  // namespace levin::cli
