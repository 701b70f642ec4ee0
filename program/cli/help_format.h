#pragma once
#include <CLI/CLI.hpp>
#include <string>

namespace levin::cli {

/// Returns the width of help texts: the terminal's columns, from 60 to 100; 100 if standard output is not a terminal.
size_t help_width();

/// Wraps `text` into lines of at most `width` columns, unless a word is longer. All lines but the first start with
/// `indent` spaces; `first` columns of the first line are already used.
std::string wrapped(const std::string& text, size_t first, size_t indent, size_t width);

/// Returns a term, such as a flag, and what it means, which begins in that column, or below a longer term.
std::string help_line(const std::string& term, const std::string& text, size_t column);

/// Formats the help of options: the first spelling, the value's type and the description.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
};

}  // namespace levin::cli
