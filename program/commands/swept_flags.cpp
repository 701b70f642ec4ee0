#include <levin/program/commands/swept_flags.h>
#include <levin/core/options/class_list.h>
#include <levin/core/system/error.h>
#include <levin/program/cli/command_line.h>
#include <levin/program/config/overrides.h>
#include <levin/program/config/problems.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace levin::cli {
namespace {

using sweep::Parameter;

/// A flag with its value.
struct Given {
  size_t place = 0;        ///< of the flag in the arguments
  bool is_joined = false;  ///< "--flag=value"
  Override value = {};
};

std::vector<Given> given_flags(const std::vector<std::string>& arguments) {
  std::vector<Given> all;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool is_joined = arguments[i].find('=') != std::string::npos;
    std::vector<std::string> words = {arguments[i]};
    if (!is_joined && i + 1 < arguments.size()) words.push_back(arguments[i + 1]);
    const std::vector<Override> found = likely_overrides(words);
    if (found.empty() || !arguments[i].starts_with("--")) continue;
    all.push_back({i, is_joined, found[0]});
  }
  // Classes decide which options there are.
  std::ranges::stable_sort(all, {}, [](const Given& given) {
    return std::pair(given.value.path.back() == "class" ? 0 : 1, given.value.path.size());
  });
  return all;
}

class Search {
 public:
  Search(const Schema& schema, std::vector<std::string> arguments) : schema_(schema) {
    config_ = read_config_files(schema, config_files_of(arguments));
    apply(schema, config_, environment_overrides());
    found_.arguments = std::move(arguments);
  }

  SweptFlags run() {
    std::set<size_t> removed;
    for (Given& given : given_flags(found_.arguments)) {
      const std::optional<Parameter> parameter = parameter_of(given.value);
      if (parameter) {
        add(given, *parameter);
        given.value.text = parameter->bounds()[0];
        if (!given.is_joined) removed.insert(given.place + 1);
      }
      apply(schema_, config_, {given.value});
    }
    remove(removed);
    return std::move(found_);
  }

 private:
  void add(const Given& given, const Parameter& parameter) {
    const bool is_new = found_.texts.emplace(parameter.name(), given.value.text).second;
    if (!is_new) throw UsageError("--", parameter.name(), ": gives several values twice");
    found_.arguments[given.place] = given.value.source;
    found_.parameters.push_back(parameter);
    found_.places.push_back(given.place);
  }

  /// Removes values that stood behind their flag.
  void remove(const std::set<size_t>& removed) {
    for (size_t& place : found_.places)
      place -= static_cast<size_t>(std::distance(removed.begin(), removed.lower_bound(place)));
    for (auto at = removed.rbegin(); at != removed.rend(); ++at)
      found_.arguments.erase(found_.arguments.begin() + static_cast<std::ptrdiff_t>(*at));
  }

  std::optional<Parameter> parameter_of(const Override& given) const {
    const std::string& text = given.text;
    if (text.find("${") != std::string::npos || given.adds) return {};
    std::optional<FoundOption> option;
    try {
      option = find_option(schema_, config_.values, path_in_config(given));
    } catch (const UsageError&) {
      return {};  // reported with all mistakes
    }
    if (option->type == nullptr) return {};
    const std::string name = dotted(given.path);
    const bool has_comma = text.find(',') != std::string::npos;
    const OptionType* type = option->type;
    while (!type->is_list() && type->item() != nullptr) type = type->item();
    if (option->is_class || (type->classes() != nullptr && !type->is_list()))
      return has_comma && text[0] != '{' ? std::optional(Parameter::list(name, text, ',')) : std::nullopt;
    if (type->is_list())
      return text.find('|') != std::string::npos ? std::optional(Parameter::list(name, text, '|')) : std::nullopt;
    const std::string expected = type->expected();
    const bool is_whole = expected == "a whole number";
    // Rates may be one number, or a list with one for each group.
    if ((is_whole || expected.starts_with("a number")) && text.find(':') != std::string::npos)
      return Parameter::range(name, text, is_whole);
    if (has_comma && (expected == "text" || !is_valid(given))) return Parameter::list(name, text, ',');
    return {};
  }

  /// A config has seed and name at the top; the items of lists are "[0]" there.
  static std::vector<std::string> path_in_config(const Override& given) {
    std::vector<std::string> path = given.path;
    if (path.size() == 2 && path[0] == "trainer" && (path[1] == "seed" || path[1] == "name")) path.erase(path.begin());
    for (std::string& key : path)
      if (!key.empty() && key.find_first_not_of("0123456789") == std::string::npos) key = "[" + key + "]";
    return path;
  }

  /// Returns whether the option takes the text as one value.
  bool is_valid(const Override& given) const {
    Config with = config_;
    if (!apply(schema_, with, {given}).empty()) return false;
    const std::vector<std::string> before = find_problems(schema_, config_), after = find_problems(schema_, with);
    return std::ranges::all_of(
        after, [&](const std::string& problem) { return std::ranges::find(before, problem) != before.end(); });
  }

  const Schema& schema_;
  Config config_ = {};
  SweptFlags found_ = {};
};

}  // namespace

std::vector<std::string> SweptFlags::with(const sweep::Assignment& values) const {
  std::vector<std::string> words = arguments;
  for (size_t i = 0; i < places.size(); ++i) words[places[i]] += "=" + values[i];
  return words;
}

SweptFlags find_swept_flags(const Schema& schema, std::vector<std::string> arguments) {
  return Search(schema, std::move(arguments)).run();
}

}  // namespace levin::cli
