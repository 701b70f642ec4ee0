#include <levin/program/cli/help_format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

namespace levin::cli {
namespace {

constexpr size_t kColumn = 44;  // column of the descriptions
constexpr size_t kWidth = 100;
constexpr size_t kNarrowest = 60;

}  // namespace

size_t help_width() {
  winsize size = {};
  if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kWidth;
  return std::clamp<size_t>(size.ws_col, kNarrowest, kWidth);
}

std::string wrapped(const std::string& text, size_t first, size_t indent, size_t width) {
  std::istringstream words(text);
  std::string result;
  size_t column = first;
  bool at_begin = true;
  for (std::string word; words >> word; at_begin = false) {
    if (!at_begin && column + 1 + word.size() > width) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!at_begin) {
      result += " ";
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result;
}

std::string help_line(const std::string& term, const std::string& text, size_t column) {
  const size_t width = help_width();
  // In a narrow terminal the descriptions are below the terms.
  if (width < kWidth) column = 8;
  std::string line = "  " + term;
  line += line.size() + 2 > column ? "\n" + std::string(column, ' ') : std::string(column - line.size(), ' ');
  return line + wrapped(text, column, column, width) + "\n";
}

HelpFormatter::HelpFormatter() { column_width(kColumn); }

std::string HelpFormatter::make_option_name(const CLI::Option* option, bool /*is_positional*/) const {
  return "--" + option->get_lnames().at(0);
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  return option->get_type_name().empty() ? "" : " " + option->get_type_name();
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  return help_line(make_option_name(option, is_positional) + make_option_opts(option), option->get_description(),
                   kColumn);
}

std::string HelpFormatter::make_usage(const CLI::App* /*app*/, std::string /*name*/) const { return ""; }

}  // namespace levin::cli
