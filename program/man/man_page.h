#pragma once
#include <string>
#include <vector>

namespace levin::cli {

/// Returns the names of all manual pages: "levin", and "levin-fit" and so on for each command.
std::vector<std::string> man_page_names();

/// Returns a page in the macros of man(7), made of the commands' texts and flags and, for fit, validate, test and
/// predict, of the options' own help and limits. Throws UsageError for a name that no page has.
std::string man_page(const std::string& name);

/// Returns docs/commands.md, in Markdown.
std::string commands_page();

}  // namespace levin::cli
