#include <levin/program/man/help_text.h>

#include <sstream>
#include <utility>

namespace levin::cli {
namespace {

constexpr size_t kLeastContinued = 4;  ///< columns that a continued line is indented further than its term

void append(std::string& text, const std::string& more) { text += (text.empty() ? "" : " ") + more; }

/// Divides help line by line.
class Divider {
 public:
  HelpText help = {};

  /// Returns false at the end of what is taken.
  bool take(const std::string& line) {
    const size_t indent = line.find_first_not_of(' ');
    if (indent == line.npos) {
      state_ = State::Between;
    } else if (line.starts_with("Usage:")) {
      if (!help.usage.empty()) return false;
      help.usage.push_back(line.substr(line.find_first_not_of(' ', std::string("Usage:").size())));
      state_ = State::Usage;
    } else if (state_ == State::Usage) {
      const std::string more = line.substr(indent);
      if (more.starts_with("levin "))
        help.usage.push_back(more);
      else
        append(help.usage.back(), more);
    } else if (indent == 0) {
      if (state_ != State::Paragraph) help.parts.emplace_back();
      append(help.parts.back().text, line);
      state_ = State::Paragraph;
    } else if (state_ == State::Entry && indent >= begin_ + kLeastContinued && (column_ == 0 || indent == column_)) {
      append(help.parts.back().text, line.substr(indent));
      column_ = indent;
    } else {
      begin_entry(line, indent);
    }
    return true;
  }

 private:
  enum class State { Between, Usage, Paragraph, Entry };

  void begin_entry(const std::string& line, size_t indent) {
    const size_t gap = line.find("  ", indent);
    HelpEntry& entry = help.parts.emplace_back();
    entry.term = line.substr(indent, gap == line.npos ? gap : gap - indent);
    begin_ = indent;
    column_ = gap == line.npos ? 0 : line.find_first_not_of(' ', gap);
    if (column_ != 0) entry.text = line.substr(column_);
    state_ = State::Entry;
  }

  State state_ = State::Between;
  size_t begin_ = 0;   // of the entry's term
  size_t column_ = 0;  // of the entry's text; 0: not known yet
};

}  // namespace

HelpText divide_help(const std::string& help) {
  Divider divider;
  std::istringstream in(help);
  for (std::string line; std::getline(in, line) && divider.take(line);) {
  }
  return std::move(divider.help);
}

}  // namespace levin::cli
