#include <levin/modules/program/input_structure.h>
#include <levin/core/state/json_depth.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace levin::program {
namespace {

using Json = nlohmann::json;

constexpr int kMostDepth = 64;

/// Text that is no JSON, or that is nested too deeply, becomes a value that is discarded.
Json parsed(const std::string& text) {
  if (is_nested_deeper(text)) return Json::value_t::discarded;
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

/// The names of a node's children: keys of a dict, fields of a named tuple or a dataclass, or positions.
std::vector<std::string> child_names(const Json& node, size_t children) {
  std::vector<std::string> names;
  if (node.contains("context") && node["context"].is_string()) {
    const Json context = parsed(node["context"].get<std::string>());
    const Json* list = &context;
    // The context of a dataclass is [fields, fields that are None]; of a default dict, a dict with its keys.
    if (context.is_array() && !context.empty() && context[0].is_array()) list = &context[0];
    if (context.is_object() && context.contains("dict_context")) list = &context["dict_context"];
    for (const Json& key : list->is_array() ? *list : Json::array())
      names.push_back(key.is_string() ? key.get<std::string>() : key.dump());
  }
  if (names.size() == children) return names;
  names.clear();
  for (size_t i = 0; i < children; ++i) names.push_back(std::to_string(i));
  return names;
}

void collect(const Json& node, const std::string& path, int depth, std::vector<std::string>& paths) {
  const Json& children = node.at("children_spec");
  const bool is_leaf = node.at("type").is_null();
  if (is_leaf || depth > kMostDepth) {
    paths.push_back(path);
    return;
  }
  const std::vector<std::string> names = child_names(node, children.size());
  for (size_t i = 0; i < children.size(); ++i)
    collect(children[i], path.empty() ? names[i] : path + "." + names[i], depth + 1, paths);
}

/// "[1, {...}]": a version and the root.
Json root_of(const std::string& spec) {
  const Json json = parsed(spec);
  return json.is_array() && json.size() == 2 ? json[1] : Json();
}

}  // namespace

std::vector<std::string> input_paths(const std::string& spec, const std::vector<std::string>& argument_names) try {
  const Json root = root_of(spec);
  if (!root.is_object()) return {};
  std::vector<std::string> paths;
  const Json& parts = root.at("children_spec");  // positional arguments, keyword arguments
  const Json& positional = parts.at(0).at("children_spec");
  for (size_t i = 0; i < positional.size(); ++i)
    collect(positional[i], i < argument_names.size() ? argument_names[i] : std::to_string(i), 0, paths);
  const std::vector<std::string> keywords = child_names(parts.at(1), parts.at(1).at("children_spec").size());
  for (size_t i = 0; i < keywords.size(); ++i) collect(parts.at(1).at("children_spec")[i], keywords[i], 0, paths);
  return paths;
} catch (const Json::exception&) {
  return {};
}

std::vector<std::string> output_paths(const std::string& spec) try {
  const Json root = root_of(spec);
  std::vector<std::string> paths;
  if (root.is_object()) collect(root, "", 0, paths);
  return paths;
} catch (const Json::exception&) {
  return {};
}

}  // namespace levin::program
