#pragma once
#include <string>
#include <vector>

namespace levin::cli {

/// A term and what it means: a command with its arguments, or a flag.
struct HelpEntry {
  std::string term = {}, text = {};
};

/// The text of --help, divided.
struct HelpText {
  /// Paragraphs and entries in their order; a paragraph has no term.
  std::vector<HelpEntry> parts = {};
  std::vector<std::string> usage = {};  ///< what follows "Usage:", without that word
};

/// Divides a text of --help. A line that is indented begins an entry: its term, and behind two spaces or more its
/// meaning, which goes on in lines that are indented as far. Other lines, up to a blank one, are a paragraph. What
/// follows a second "Usage:", the flags of fit, is left out.
HelpText divide_help(const std::string& help);

}  // namespace levin::cli
