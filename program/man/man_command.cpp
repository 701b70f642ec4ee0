#include <levin/core/state/atomic_file.h>
#include <levin/core/state/new_folder.h>
#include <levin/core/system/error.h>
#include <levin/data/remote/output_place.h>
#include <levin/program/commands/commands.h>
#include <levin/program/man/man_page.h>

#include <filesystem>
#include <iostream>
#include <optional>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;

struct ManFlags {
  std::string output = LEVIN_OPTION(
      output, "",
      "Write all pages into this folder, levin.1, levin-fit.1 and so on. An installed levin has them already");
  bool docs = LEVIN_OPTION(docs, false, "Print the page that describes all commands, in Markdown");
};

void write_pages(const fs::path& folder) {
  require_local("--output", folder);
  std::optional<NewFolder> made;
  try {
    made.emplace(folder);
  } catch (const fs::filesystem_error& error) {
    throw UsageError("--output: ", folder.string(), " cannot be made: ", error.code().message());
  }
  for (const std::string& name : man_page_names()) write_text_file_atomically(folder / (name + ".1"), man_page(name));
}

int run_man(const ManFlags& flags, const Words& words) {
  if ((words.empty() ? 0 : 1) + (flags.output.empty() ? 0 : 1) + (flags.docs ? 1 : 0) > 1)
    throw UsageError("levin man: expected one of COMMAND, --output and --docs; `levin man --help` says more");
  if (flags.docs)
    std::cout << commands_page();
  else if (flags.output.empty())
    std::cout << man_page(words.empty() ? "levin" : words[0]);
  else
    write_pages(flags.output);
  return 0;
}

}  // namespace

Command man_command() {
  return make_command({.name = "man",
                       .summary = "Print the manual page of a command, or write all",
                       .usage = "[COMMAND]",
                       .about = "For `man -l -`; without a COMMAND it is the page of the program.",
                       .most = 1,
                       .values = {{"output", "FOLDER"}},
                       .operands = command_names},
                      run_man);
}

}  // namespace levin::cli
