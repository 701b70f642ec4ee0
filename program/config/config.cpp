#include <levin/program/config/config.h>
#include <levin/core/options/class_list.h>
#include <levin/core/system/error.h>
#include <levin/program/config/config_path.h>
#include <levin/program/config/reference_text.h>

#include <algorithm>

namespace levin::cli {
namespace {

const Json& member(const Json& object, const std::string& key) {
  static const Json kNothing;
  const Json* found = find_value(object, {key});
  return found ? *found : kNothing;
}

}  // namespace

std::string Config::nearest_origin(std::string path) const {
  while (!path.empty()) {
    if (const auto found = origins.find(path); found != origins.end()) return found->second;
    const size_t end = path.find_last_of(".[");
    path.resize(end == std::string::npos ? 0 : end);
  }
  return "";
}

void Config::set_origin(const std::string& path, const Json& value, const std::string& origin) {
  origins[path] = origin;
  if (value.is_object())
    for (const auto& item : value.items()) set_origin(join_path(path, item.key()), item.value(), origin);
  if (value.is_array())
    for (size_t i = 0; i < value.size(); ++i) set_origin(item_path(path, i), value[i], origin);
}

void Config::erase(const std::string& path) {
  std::vector<std::string> keys = keys_of(path);
  if (keys.empty()) return;  // an empty key at the top, which is refused for its name
  // Erase the whole list, because the paths of the other items must not change.
  while (keys.size() > 1 && index_of(keys.back())) keys.pop_back();
  const std::string outer = path_of(keys), key = keys.back();
  keys.pop_back();
  Json* const object = const_cast<Json*>(find_value(values, keys));
  if (object && object->is_object()) object->erase(key);
  erase_within(origins, outer);
  erase_within(references, outer);
}

std::string class_name_of(const Json& part) {
  const Json* const name = part.is_object() ? &member(part, "class") : &part;
  return name->is_string() ? with_environment(name->get<std::string>()) : "";
}

std::vector<std::string> keys_of(const std::string& path) {
  std::vector<std::string> keys;
  size_t begin = 0;
  while (begin <= path.size() && !path.empty()) {
    const bool is_index = path[begin] == '[';
    const size_t end = std::min(is_index ? path.find(']', begin) : path.find_first_of(".[", begin), path.size());
    keys.push_back(path.substr(begin, is_index ? end - begin + 1 : end - begin));
    begin = is_index ? end + 1 : end;
    if (begin >= path.size()) break;
    if (path[begin] == '.') ++begin;
  }
  return keys;
}

std::string path_of(const std::vector<std::string>& keys) {
  std::string path;
  for (const std::string& key : keys) path = index_of(key) ? path + key : join_path(path, key);
  return path;
}

std::string item_path(const std::string& path, size_t index) { return path + "[" + std::to_string(index) + "]"; }

const Json* find_value(const Json& root, const std::vector<std::string>& keys) {
  const Json* value = &root;
  for (const std::string& key : keys) {
    const std::optional<size_t> index = index_of(key);
    if (value->is_array() && index && *index < value->size())
      value = &(*value)[*index];
    else if (value->is_object() && index == 0)
      continue;  // a single part stands for a list of one
    else if (value->is_object() && value->contains(key))
      value = &value->at(key);
    else
      return nullptr;
  }
  return value;
}

FoundOption find_option(const Schema& root, const Json& values, const std::vector<std::string>& keys) {
  const Schema* schema = &root;
  FoundOption found{.by_default = root.defaults()};
  std::vector<std::string> path;
  for (const std::string& key : keys) {
    const Json* here = find_value(values, path);
    const std::string so_far = path_of(path);
    path.push_back(key);
    if (found.is_class) throw UsageError(path_of(path), ": no such option");
    if (found.type && found.type->is_list() && index_of(key)) {
      const size_t index = *index_of(key);
      const Json& list = here ? *here : found.by_default;
      if (list.is_array()) require_item(path_of(path), index, list);
      found.type = found.type->item();
      found.by_default = found.by_default.is_array() && index < found.by_default.size() ? Json(found.by_default[index])
                                                                                        : Json(nullptr);
      continue;
    }
    if (found.type) {
      const bool is_part = found.type->classes() && !found.type->is_list();
      if (is_part && key == "class") {
        found.is_class = true;
        continue;
      }
      std::string name = is_part && here ? class_name_of(*here) : "";
      const std::string default_name = class_name_of(found.by_default);
      if (name.empty()) name = default_name;
      if (is_part && name.empty())
        throw UsageError("choose the ", found.type->classes()->noun(), " with ", so_far, ".class first");
      schema = found.type->is_list() ? nullptr : found.type->inner(name);
      if (is_part && !schema) found.type->classes()->at(name, join_path(so_far, "class"));  // which throws
      // A class other than the default one has its own defaults.
      if (schema && name != default_name) found.by_default = schema->defaults();
    }
    const Field* field = schema ? schema->find(key) : nullptr;
    if (!field)
      throw UsageError(path_of(path), ": no such option",
                       did_you_mean(key, schema ? schema->names() : std::vector<std::string>()));
    found = {.type = field->type, .limits = field->limits, .by_default = Json(member(found.by_default, key))};
  }
  return found;
}

}  // namespace levin::cli
