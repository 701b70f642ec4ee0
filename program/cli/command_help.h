#pragma once
#include <levin/program/cli/command.h>
#include <levin/program/cli/flags.h>

#include <string>
#include <vector>

namespace levin::cli {

/// Returns how a command is called: "levin rm RUN... [--yes]".
std::string usage_of(const Command& command);

/// Returns a command's own flags, in the order of --help.
std::vector<KnownFlag> own_flags(const Command& command);

/// Returns a flag with what --help calls its value: "--out FILE".
std::string term_of(const KnownFlag& flag);

/// Returns the paragraphs of a command's --help, each a line: its `about`, and what `rest` says of the other flags.
std::vector<std::string> paragraphs_of(const Command& command);

/// Returns the text of `levin COMMAND --help`. `config_flags`: the flags of a config as --help shows them.
std::string help_of(const Command& command, const std::string& config_flags = {});

}  // namespace levin::cli
