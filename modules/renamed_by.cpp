#include <levin/modules/renamed_by.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

namespace levin {
namespace {

size_t stars_in(const std::string& text) { return static_cast<size_t>(std::ranges::count(text, '*')); }

/// Returns what each `*` of a pattern stands for; each but the last takes as little as it can.
std::optional<std::vector<std::string_view>> parts_of(std::string_view pattern, std::string_view name) {
  std::vector<std::string_view> parts;
  const size_t first = std::min(pattern.find('*'), pattern.size());
  if (!name.starts_with(pattern.substr(0, first))) return {};
  name.remove_prefix(first);
  pattern.remove_prefix(first);
  while (!pattern.empty()) {
    pattern.remove_prefix(1);
    const size_t next = std::min(pattern.find('*'), pattern.size());
    const std::string_view literal = pattern.substr(0, next);
    const bool is_last = next == pattern.size();
    if (is_last && (name.size() < literal.size() || !name.ends_with(literal))) return {};
    const size_t end = is_last ? name.size() - literal.size() : name.find(literal);
    if (end == name.npos) return {};
    parts.push_back(name.substr(0, end));
    name.remove_prefix(end + literal.size());
    pattern.remove_prefix(next);
  }
  if (!name.empty()) return {};
  return parts;
}

std::string filled(const std::string& pattern, const std::vector<std::string_view>& parts) {
  std::string text;
  size_t next = 0;
  for (const char c : pattern) {
    if (c == '*')
      text += parts[next++];
    else
      text += c;
  }
  return text;
}

}  // namespace

std::string renamed_by(const std::map<std::string, std::string>& patterns, const std::string& name) {
  std::optional<std::string> renamed;
  size_t most = 0;
  for (const auto& [old_name, new_name] : patterns) {
    const size_t literals = old_name.size() - stars_in(old_name);
    if (renamed && literals <= most) continue;
    const auto parts = parts_of(old_name, name);
    if (!parts) continue;
    renamed = filled(new_name, *parts);
    most = literals;
  }
  return renamed.value_or(name);
}

void check_renaming(const std::map<std::string, std::string>& patterns) {
  for (const auto& [old_name, new_name] : patterns)
    if (stars_in(new_name) > stars_in(old_name))
      throw UsageError("the new name ", new_name, " has more * than the old one, ", old_name);
}

}  // namespace levin
