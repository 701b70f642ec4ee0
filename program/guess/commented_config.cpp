#include <levin/program/guess/commented_config.h>
#include <levin/core/system/json_text.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

namespace levin::cli {
namespace {

/// Returns JSON in one line, with a space behind each comma and colon.
std::string line_of(const Json& json) {
  if (!json.is_structured()) return json_text(json);
  std::string text = json.is_array() ? "[" : "{";
  bool first = true;
  for (const auto& item : json.items()) {
    if (!std::exchange(first, false)) text += ", ";
    if (json.is_object()) text += json_text(item.key()) + ": ";
    text += line_of(item.value());
  }
  return text + (json.is_array() ? "]" : "}");
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

void write_comment(std::string& text, const std::vector<std::string>& lines, const std::string& indent) {
  for (const std::string& line : lines) text += indent + "// " + line + "\n";
}

}  // namespace

CommentedConfig::Section& CommentedConfig::section(const std::string& name) {
  const auto found = std::ranges::find(sections_, name, &Section::name);
  return found != sections_.end() ? *found : sections_.emplace_back(Section{.name = name});
}

void CommentedConfig::set(const std::string& name, const std::string& key, Json value, const std::string& comment) {
  section(name).options.push_back({.key = key, .value = std::move(value), .above = lines_of(comment)});
}

void CommentedConfig::note(const std::string& name, const std::string& comment) {
  for (std::string& line : lines_of(comment)) section(name).options.back().below.push_back(std::move(line));
}

void CommentedConfig::write(std::string& text, const std::vector<Option>& options, const std::string& indent) {
  for (const Option& option : options) {
    write_comment(text, option.above, indent);
    const bool is_last = &option == &options.back();
    text += indent + json_text(option.key) + ": " + line_of(option.value) + (is_last ? "\n" : ",\n");
    write_comment(text, option.below, indent);
  }
}

std::string CommentedConfig::text(const std::string& head) const {
  constexpr std::array<const char*, 4> kOrder = {"", "trainer", "model", "data"};
  std::vector<Section> sections = sections_;
  std::ranges::sort(sections, {}, [&](const Section& part) { return std::ranges::find(kOrder, part.name); });
  std::string text;
  write_comment(text, lines_of(head), "");
  text += "{\n";
  for (const Section& part : sections) {
    const bool is_last = &part == &sections.back();
    if (part.name.empty()) {
      write(text, part.options, "  ");
      if (!is_last) text.insert(text.size() - 1, ",");
    } else {
      text += "  " + json_text(part.name) + ": {\n";
      write(text, part.options, "    ");
      text += is_last ? "  }\n" : "  },\n";
    }
  }
  return text + "}\n";
}

}  // namespace levin::cli
