#include <levin/program/config/overrides.h>
#include <levin/core/system/error.h>
#include <levin/program/config/reference_text.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <tuple>
#include <utility>

namespace levin::cli {
namespace {

/// Turns "0" into "[0]" if the path before it is a list.
void mark_items(const Schema& schema, const Config& config, std::vector<std::string>& path) {
  for (size_t i = 1; i < path.size(); ++i) {
    if (path[i].empty() || path[i].find_first_not_of("0123456789") != std::string::npos) continue;
    const std::vector<std::string> outer(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(i));
    const FoundOption option = find_option(schema, config.values, outer);
    if (!option.is_class && option.type && option.type->is_list()) path[i] = "[" + path[i] + "]";
  }
}

/// Parses the text according to the type of the option.
Json read_value(const FoundOption& option, const std::string& text) {
  if (option.is_class) return text;
  // A single reference is the option's whole value, also if it stands for a list.
  const bool is_reference = text.rfind("${", 0) == 0 && text.find('}') == text.size() - 1;
  if (is_reference) return text;
  Json value = option.type->from_text(text);
  const bool is_one_part = option.type->is_list() && option.type->classes() && value.is_object();
  return is_one_part ? Json::array({std::move(value)}) : value;
}

/// Returns a config with only this value.
Config as_config(const Schema& schema, const Config& config, const Override& from) {
  require_utf8(from.text);
  std::vector<std::string> keys = from.path;
  mark_items(schema, config, keys);
  const FoundOption option = find_option(schema, config.values, keys);
  Json value = read_value(option, from.text);
  // True, false and null replace a whole list.
  const bool is_list = !option.is_class && option.type->is_list();
  if (from.adds && is_list && !value.is_boolean() && !value.is_null()) keys.back() += "+=";
  Config one;
  one.set_origin(path_of(keys), value, from.source);
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
    Json outer = Json::object();
    outer[*key] = std::move(value);
    value = std::move(outer);
  }
  one.values = std::move(value);
  return one;
}

/// The trainer's seed and name are at the top of a config.
void lift_seed_and_name(std::vector<std::string>& path) {
  if (path.size() == 2 && path[0] == "trainer" && (path[1] == "seed" || path[1] == "name")) path.erase(path.begin());
}

bool chooses_class(const Override& override_) { return !override_.path.empty() && override_.path.back() == "class"; }

bool names_item(const Override& override_) {
  return std::any_of(override_.path.begin(), override_.path.end(), [](const std::string& key) {
    return !key.empty() && key.find_first_not_of("0123456789") == std::string::npos;
  });
}

/// Returns the sort key of a value: classes first, outer before inner, because they determine the options; list items
/// after their list.
std::pair<int, size_t> turn_of(const Override& value) {
  const bool is_class = chooses_class(value);
  return {(names_item(value) ? 2 : 0) + (is_class ? 0 : 1), is_class ? value.path.size() : 0};
}

}  // namespace

std::string dotted(const std::vector<std::string>& path) {
  std::string text;
  for (const std::string& key : path) text = join_path(text, key);
  return text;
}

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end = text.find(separator); end != std::string::npos; end = text.find(separator, begin)) {
    parts.push_back(text.substr(begin, end - begin));
    begin = end + separator.size();
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::vector<Override> environment_overrides() {
  constexpr std::string_view kPrefix = "LEVIN__";
  std::vector<Override> overrides;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (text.compare(0, kPrefix.size(), kPrefix) != 0 || equals == std::string::npos) continue;
    std::string path = text.substr(kPrefix.size(), equals - kPrefix.size());
    std::transform(path.begin(), path.end(), path.begin(), [](unsigned char c) { return std::tolower(c); });
    overrides.push_back({text.substr(0, equals), split(path, "__"), text.substr(equals + 1)});
    lift_seed_and_name(overrides.back().path);
  }
  // The environment has no defined order. Outer values come before inner ones.
  std::sort(overrides.begin(), overrides.end(), [](const Override& a, const Override& b) {
    return std::tie(a.path, a.source) < std::tie(b.path, b.source);
  });
  return overrides;
}

std::vector<std::string> ambiguous_variables(const std::vector<Override>& environment) {
  std::vector<std::string> problems;
  for (size_t i = 1; i < environment.size(); ++i)
    if (environment[i].path == environment[i - 1].path && environment[i].text != environment[i - 1].text)
      problems.push_back(c10::str(environment[i - 1].source, " and ", environment[i].source,
                                  " contradict each other: both set ", dotted(environment[i].path)));
  return problems;
}

std::vector<Override> likely_overrides(const std::vector<std::string>& arguments) {
  std::vector<Override> overrides;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const size_t equals = arguments[i].find('=');
    const std::string flag = arguments[i].substr(0, equals);
    if (!flag.starts_with("--") || flag.size() == 2) continue;
    if (equals == std::string::npos && (i + 1 == arguments.size() || arguments[i + 1].starts_with("--"))) continue;
    std::string path = flag.substr(2);
    std::replace(path.begin(), path.end(), '-', '_');
    const bool adds = path.back() == '+';
    if (adds) path.pop_back();
    std::vector<std::string> keys = split(path, ".");
    if (keys[0] != "model" && keys[0] != "data" && keys[0] != "trainer") keys.insert(keys.begin(), "trainer");
    const bool stands_twice =
        std::any_of(overrides.begin(), overrides.end(), [&](const Override& before) { return before.path == keys; });
    overrides.push_back({.source = flag,
                         .path = std::move(keys),
                         .text = equals == std::string::npos ? arguments[i + 1] : arguments[i].substr(equals + 1),
                         .adds = adds || stands_twice});
  }
  return overrides;
}

std::vector<std::string> apply(const Schema& schema, Config& config, std::vector<Override> overrides) {
  std::stable_sort(overrides.begin(), overrides.end(),
                   [](const Override& a, const Override& b) { return turn_of(a) < turn_of(b); });
  std::vector<std::string> problems;
  for (Override& from : overrides) {
    lift_seed_and_name(from.path);
    try {
      merge(schema, config, as_config(schema, config, from));
    } catch (const UsageError& error) {
      problems.push_back(c10::str(from.source, ": ", error.what()));
    }
  }
  return problems;
}

}  // namespace levin::cli
