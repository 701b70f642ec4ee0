#include <levin/program/cli/command_help.h>
#include <levin/program/cli/help_format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace levin::cli {
namespace {

constexpr size_t kLeastColumn = 12, kMostColumn = 30;  // of the descriptions

/// Returns the default as --help shows it; null for one that says nothing.
Json shown_default(const Field& flag, const Json& by_default) {
  const bool says_nothing = flag.type->is_switch() || by_default == "" || by_default == Json::array();
  return says_nothing ? Json() : by_default;
}

}  // namespace

std::vector<KnownFlag> own_flags(const Command& command) {
  std::vector<KnownFlag> flags;
  const Json defaults = command.flags->defaults();
  for (const Field& field : command.flags->fields()) {
    KnownFlag flag = describe_flag(spelling_of(field), field, shown_default(field, defaults[field.name]));
    if (field.type->is_switch()) flag.value = "";
    if (const auto value = command.values.find(field.name); value != command.values.end()) flag.value = value->second;
    flags.push_back(std::move(flag));
  }
  return flags;
}

std::string term_of(const KnownFlag& flag) { return flag.spelling + (flag.value.empty() ? "" : " ") + flag.value; }

std::string usage_of(const Command& command) {
  std::string usage = "levin " + command.name, flags;
  if (command.rest == Rest::ConfigFlags || command.rest == Rest::FitFlags)
    usage += " --config FILE... [--FLAG VALUE...]";
  for (const KnownFlag& flag : own_flags(command))
    if (command.usage.find(flag.spelling) == std::string::npos) flags += " [" + term_of(flag) + "]";
  const std::string operands = command.usage.empty() ? "" : " " + command.usage;
  // What is passed to another command stands last.
  return command.rest == Rest::Command ? usage + flags + operands : usage + operands + flags;
}

std::vector<std::string> paragraphs_of(const Command& command) {
  std::vector<std::string> paragraphs;
  for (std::string rest = command.about; !rest.empty();) {
    const size_t end = rest.find("\n\n");
    paragraphs.push_back(rest.substr(0, end));
    std::ranges::replace(paragraphs.back(), '\n', ' ');
    rest = end == rest.npos ? "" : rest.substr(end + 2);
  }
  if (command.rest == Rest::FitFlags) paragraphs.emplace_back("The other flags are those of `levin fit`.");
  return paragraphs;
}

std::string help_of(const Command& command, const std::string& config_flags) {
  const size_t width = help_width();
  std::string text = command.summary + ".\n\nUsage: " + wrapped(usage_of(command), 7, 7, width) + "\n";
  for (const std::string& paragraph : paragraphs_of(command)) text += "\n" + wrapped(paragraph, 0, 0, width) + "\n";
  const std::vector<KnownFlag> flags = own_flags(command);
  if (!flags.empty()) text += "\n";
  size_t column = kLeastColumn;
  for (const KnownFlag& flag : flags) column = std::max(column, term_of(flag).size() + 4);
  for (const KnownFlag& flag : flags) text += help_line(term_of(flag), flag.description, std::min(column, kMostColumn));
  return text + config_flags;
}

}  // namespace levin::cli
