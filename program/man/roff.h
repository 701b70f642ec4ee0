#pragma once
#include <string>

namespace levin::cli {

/// Writes a manual page in the macros of man(7), for man, mandoc and groff.
class RoffPage {
 public:
  /// `name` is that of the page, "levin-fit"; `source` the program with its version.
  RoffPage(const std::string& name, const std::string& source);

  /// The title is written in capitals, by which man finds NAME.
  void section(const std::string& title);
  void subsection(const std::string& title);
  void paragraph(const std::string& text);
  /// A line in bold, as a command is typed.
  void command(const std::string& text);
  /// A term in bold, and what it means, indented.
  void entry(const std::string& term, const std::string& text);
  /// The name of the page and its meaning in a line, as `man -k` finds it.
  void name_line(const std::string& name, const std::string& meaning);

  const std::string& text() const { return text_; }

 private:
  std::string text_;
  bool begins_ = true;  // nothing stands below the heading yet
};

/// Returns a text that roff prints as it is, without a line that roff takes for a request.
std::string roff_text(const std::string& text);

}  // namespace levin::cli
