#include <levin/program/man/roff.h>

#include <algorithm>
#include <cctype>

namespace levin::cli {
namespace {

std::string in_capitals(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

std::string quoted(const std::string& text) { return "\"" + roff_text(text) + "\""; }

}  // namespace

std::string roff_text(const std::string& text) {
  std::string written;
  for (const char c : text) {
    if (c == '\\')
      written += "\\e";
    else if (c == '-')
      written += "\\-";
    else if (c == '"')
      written += "\\(dq";
    else if (c == '`')
      written += "\\(ga";
    else if (c == '^')
      written += "\\(ha";
    else if (c == '~')
      written += "\\(ti";
    else if (c == '\'')
      written += "\\(aq";
    else
      written += c;
  }
  return written.starts_with('.') ? "\\&" + written : written;
}

RoffPage::RoffPage(const std::string& name, const std::string& source)
    : text_(".TH " + quoted(in_capitals(name)) + " 1 \"\" " + quoted(source) + " \"levin\"\n") {}

void RoffPage::section(const std::string& title) {
  text_ += ".SH " + quoted(in_capitals(title)) + "\n";
  begins_ = true;
}

void RoffPage::subsection(const std::string& title) {
  text_ += ".SS " + quoted(title) + "\n";
  begins_ = true;
}

void RoffPage::paragraph(const std::string& text) {
  if (!begins_) text_ += ".PP\n";
  begins_ = false;
  text_ += roff_text(text) + "\n";
}

void RoffPage::command(const std::string& text) {
  if (!begins_) text_ += ".br\n";
  begins_ = false;
  text_ += ".B " + roff_text(text) + "\n";
}

void RoffPage::entry(const std::string& term, const std::string& text) {
  begins_ = false;
  text_ += ".TP\n.B " + roff_text(term) + "\n" + (text.empty() ? "\\&" : roff_text(text)) + "\n";
}

void RoffPage::name_line(const std::string& name, const std::string& meaning) {
  text_ += roff_text(name) + " \\- " + roff_text(meaning) + "\n";
  begins_ = false;
}

}  // namespace levin::cli
