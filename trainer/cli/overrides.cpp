#include <levin/trainer/cli/overrides.h>
#include <levin/trainer/cli/config_file.h>
#include <levin/trainer/core/class_list.h>
#include <levin/trainer/core/error.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

namespace levin::cli {
namespace {

/// The class that `config` chooses at an option, or by default; empty without one.
std::string chosen_class(const Json& config, const Json& by_default) {
  for (const Json* part : {&config, &by_default}) {
    if (part->is_string()) return part->get<std::string>();
    if (part->is_object() && part->contains("class") && (*part)["class"].is_string()) return (*part)["class"];
  }
  return "";
}

const Json& member(const Json& object, const std::string& key) {
  static const Json kNothing;
  return object.is_object() && object.contains(key) ? object[key] : kNothing;
}

[[noreturn]] void no_such_option(const Override& from, const std::string& path, const std::string& key,
                                 const std::vector<std::string>& known) {
  throw UsageError(from.source, ": ", join_path(path, key), ": no such option", did_you_mean(key, known));
}

/// The JSON value that the text means, found by walking the schemas along the path.
Json read_value(const Schema& root, const Json& config, const Override& from) {
  const Schema* schema = &root;
  const OptionType* type = nullptr;
  Json defaults = root.defaults();
  Json here = config;
  std::string path;
  for (const std::string& key : from.path) {
    if (type) {
      const std::string name = chosen_class(here, defaults);
      if (type->classes() && key == "class") return from.text;
      if (type->classes() && name.empty())
        throw UsageError(from.source, ": choose the ", type->classes()->noun(), " with ", path, ".class first");
      if (type->classes()) type->classes()->at(name, join_path(path, "class"));
      schema = type->inner(name);
      if (!schema) no_such_option(from, path, key, {});
      // Another class than the default one has its own defaults.
      defaults = type->classes() ? schema->defaults() : defaults;
    }
    const Field* field = schema->find(key);
    if (!field) no_such_option(from, path, key, schema->names());
    type = field->type;
    path = join_path(path, key);
    here = Json(member(here, key));
    defaults = Json(member(defaults, key));
  }
  return type->from_text(from.text);
}

bool chooses_class(const Override& override_) { return !override_.path.empty() && override_.path.back() == "class"; }

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
  }
  return overrides;
}

std::vector<Override> class_overrides(const std::vector<std::string>& arguments) {
  std::vector<Override> overrides;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const size_t equals = arguments[i].find('=');
    const std::string flag = arguments[i].substr(0, equals);
    if (flag.compare(0, 8, "--model.") != 0 && flag.compare(0, 7, "--data.") != 0) continue;
    if (equals == std::string::npos && i + 1 == arguments.size()) continue;
    std::string path = flag.substr(2);
    std::replace(path.begin(), path.end(), '-', '_');
    Override found{flag, split(path, "."),
                   equals == std::string::npos ? arguments[i + 1] : arguments[i].substr(equals + 1)};
    if (chooses_class(found)) overrides.push_back(std::move(found));
  }
  return overrides;
}

void apply(const Schema& schema, Json& config, std::vector<Override> overrides) {
  // Classes first, outer before inner: their options are known only then. Otherwise the order stays: later ones win.
  const auto rank = [](const Override& value) {
    return chooses_class(value) ? value.path.size() : std::numeric_limits<size_t>::max();
  };
  std::stable_sort(overrides.begin(), overrides.end(),
                   [&](const Override& a, const Override& b) { return rank(a) < rank(b); });
  for (Override& from : overrides) {
    // The trainer's seed and name stand at the top of a config.
    if (from.path == std::vector<std::string>{"trainer", "seed"} ||
        from.path == std::vector<std::string>{"trainer", "name"})
      from.path.erase(from.path.begin());
    Json value = read_value(schema, config, from);
    for (auto key = from.path.rbegin(); key != from.path.rend(); ++key) {
      Json outer = Json::object();
      outer[*key] = std::move(value);
      value = std::move(outer);
    }
    merge(config, value);
  }
}

}  // namespace levin::cli
