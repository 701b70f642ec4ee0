#pragma once
#include <CLI/CLI.hpp>
#include <string>

namespace levin::cli {

/// The columns that help may take: those of the terminal, from 60 to 100; 100 where standard output is none.
size_t help_width();

/// `text` in lines of at most `width` columns where its words allow that; lines but the first begin with `indent`
/// spaces. `first` columns of the first line are taken already.
std::string wrapped(const std::string& text, size_t first, size_t indent, size_t width);

/// Help of one option: the first of its spellings, its default and its limits.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
};

}  // namespace levin::cli
