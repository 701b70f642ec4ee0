#include <levin/trainer/cli/overrides.h>
#include <levin/trainer/cli/reference_text.h>
#include <levin/trainer/core/error.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <string_view>
#include <tuple>

namespace levin::cli {
namespace {

/// The JSON value that the text means, by the type of the option.
Json read_value(const Schema& schema, const Config& config, const Override& from) {
  require_utf8(from.text);
  const FoundOption option = find_option(schema, config.values, from.path);
  if (option.is_class) return from.text;
  // One reference is the option's whole value, also where it stands for a list.
  const bool is_reference = from.text.rfind("${", 0) == 0 && from.text.find('}') == from.text.size() - 1;
  return is_reference ? Json(from.text) : option.type->from_text(from.text);
}

/// The trainer's seed and name stand at the top of a config.
void lift_seed_and_name(std::vector<std::string>& path) {
  if (path.size() == 2 && path[0] == "trainer" && (path[1] == "seed" || path[1] == "name")) path.erase(path.begin());
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
    lift_seed_and_name(overrides.back().path);
  }
  // The environment has no order of its own; outer values come before those inside.
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

std::vector<std::string> apply(const Schema& schema, Config& config, std::vector<Override> overrides) {
  // Classes first, outer before inner: their options are known only then. Otherwise the order stays: later ones win.
  const auto rank = [](const Override& value) {
    return chooses_class(value) ? value.path.size() : std::numeric_limits<size_t>::max();
  };
  std::stable_sort(overrides.begin(), overrides.end(),
                   [&](const Override& a, const Override& b) { return rank(a) < rank(b); });
  std::vector<std::string> problems;
  for (Override& from : overrides) {
    lift_seed_and_name(from.path);
    try {
      Json value = read_value(schema, config, from);
      Config over;
      over.set_origin(dotted(from.path), value, from.source);
      for (auto key = from.path.rbegin(); key != from.path.rend(); ++key) {
        Json outer = Json::object();
        outer[*key] = std::move(value);
        value = std::move(outer);
      }
      over.values = std::move(value);
      merge(schema, config, over);
    } catch (const UsageError& error) {
      problems.push_back(c10::str(from.source, ": ", error.what()));
    }
  }
  return problems;
}

}  // namespace levin::cli
