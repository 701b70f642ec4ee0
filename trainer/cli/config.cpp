#include <levin/trainer/cli/config.h>
#include <levin/trainer/cli/reference_text.h>
#include <levin/trainer/core/class_list.h>
#include <levin/trainer/core/error.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace levin::cli {
namespace {

/// Whether `path` is `outer` or stands in it.
bool is_within(const std::string& path, const std::string& outer) {
  if (outer.empty() || path == outer) return true;
  return path.size() > outer.size() && path.compare(0, outer.size(), outer) == 0 &&
         (path[outer.size()] == '.' || path[outer.size()] == '[');
}

using Texts = std::map<std::string, std::string>;

void erase_within(Texts& texts, const std::string& outer) {
  std::erase_if(texts, [&](const Texts::value_type& entry) { return is_within(entry.first, outer); });
}

/// The number in "[3]"; nothing for other keys.
std::optional<size_t> index_of(const std::string& key) {
  if (key.size() < 3 || key.front() != '[' || key.back() != ']') return {};
  size_t index = 0;
  const char* last = key.data() + key.size() - 1;
  const auto result = std::from_chars(key.data() + 1, last, index);
  if (result.ec != std::errc() || result.ptr != last) return {};
  return index;
}

/// What a key ends with whose values are added to a list: "callbacks+=".
constexpr std::string_view kAdds = "+=";

bool adds_to_list(const std::string& key) { return key.size() > kAdds.size() && key.ends_with(kAdds); }

/// Whether an object names items of a list by their indices.
bool is_indexed(const Json& object) {
  bool indexed = !object.empty();
  for (const auto& item : object.items()) indexed = indexed && index_of(item.key());
  return indexed;
}

/// Throws UsageError where `list` has no such item.
void require_item(const std::string& path, size_t index, const Json& list) {
  if (index < list.size()) return;
  const std::string count = std::to_string(list.size()) + (list.size() == 1 ? " item" : " items");
  throw UsageError(path, ": no such item; the list ", list.empty() ? "is empty" : "has " + count + ", counted from 0");
}

/// Merges what stands at one path.
class Merge {
 public:
  Merge(const Schema& schema, Config& base, const Config& over) : schema_(schema), base_(base), over_(over) {}

  void at(const std::string& path, Json& base, const Json& over) {
    if (!over.is_object()) return replace(path, base, over);
    if (is_indexed(over)) return into_items(path, base, over);
    if (base.is_string()) {
      // "AdamW" is brief for {"class": "AdamW"}.
      base = {{"class", base}};
      if (const auto origin = base_.origins.find(path); origin != base_.origins.end())
        base_.origins[join_path(path, "class")] = origin->second;
    }
    if (!base.is_object() || names_another_class(path, base, over)) {
      erase_within(base_.origins, path);
      base = Json::object();
    }
    if (const auto origin = over_.origins.find(path); origin != over_.origins.end())
      base_.origins[path] = origin->second;
    // The class says which lists there are by default.
    if (over.contains("class")) at(join_path(path, "class"), base["class"], over["class"]);
    for (const auto& item : over.items())
      if (adds_to_list(item.key()))
        append(path, base, item.key(), item.value());
      else if (item.key() != "class")
        at(join_path(path, item.key()), base[item.key()], item.value());
  }

 private:
  void replace(const std::string& path, Json& base, const Json& over) {
    erase_within(base_.origins, path);
    base = over;
    take_origins(path, path);
    // Objects in a list may add to lists of their own.
    if (base.is_array())
      for (size_t i = 0; i < base.size(); ++i)
        if (base[i].is_object()) at(item_path(path, i), base[i] = nullptr, over[i]);
  }

  /// The origins of what stands at `from`, for what stands at `to` now.
  void take_origins(const std::string& from, const std::string& to) {
    for (const auto& [where, origin] : over_.origins)
      if (is_within(where, from)) base_.origins[to + where.substr(from.size())] = origin;
  }

  /// Changes single items: `over` has them by "[index]".
  void into_items(const std::string& path, Json& base, const Json& over) {
    make_list(path, base, path);
    for (const auto& item : over.items()) {
      const size_t index = *index_of(item.key());
      require_item(path + item.key(), index, base);
      at(item_path(path, index), base[index], item.value());
    }
  }

  void append(const std::string& outer, Json& object, const std::string& key, const Json& added) {
    const std::string name = key.substr(0, key.size() - kAdds.size());
    const std::string path = join_path(outer, name), from = join_path(outer, key);
    Json& base = object[name];
    make_list(path, base, from);
    const Json items = added.is_array() ? added : Json::array({added});
    for (size_t i = 0; i < items.size(); ++i) {
      const std::string to = item_path(path, base.size());
      base.push_back(items[i]);
      if (const auto whole = over_.origins.find(from); whole != over_.origins.end()) base_.origins[to] = whole->second;
      take_origins(added.is_array() ? item_path(from, i) : from, to);
    }
  }

  /// Makes the list at `path` what can be added to: a single class becomes a list of one, an unset list its default.
  /// `asked` names it in errors.
  void make_list(const std::string& path, Json& base, const std::string& asked) {
    if (base.is_array()) return;
    const std::optional<FoundOption> option = option_at(path);
    const auto refuse = [&](const std::string& why) {
      throw UsageError(asked, ": only a list has items and can be added to; ", why);
    };
    if (option && !(option->type && option->type->is_list()))
      refuse("the option takes " + (option->type ? option->type->expected() : "the name of a class"));
    const bool is_part = option && option->type->classes() != nullptr;
    const bool is_text = base.is_string() && base.get_ref<const std::string&>().find("${") != std::string::npos;
    if (base.is_object() || (base.is_string() && is_part && !is_text)) {
      const std::string first = item_path(path, 0);
      std::map<std::string, std::string> moved;
      for (const auto& [where, origin] : base_.origins)
        if (is_within(where, path)) moved[first + where.substr(path.size())] = origin;
      if (const auto whole = base_.origins.find(path); whole != base_.origins.end()) moved[path] = whole->second;
      erase_within(base_.origins, path);
      base_.origins.merge(moved);
      base = Json::array({base});
    } else if (!base.is_null()) {
      refuse("here stands " + base.dump());
    } else if (option && option->type->is_switch() && !option->by_default.is_array()) {
      refuse("it is unset here: write the whole list");
    } else {
      base = option && option->by_default.is_array() ? option->by_default : Json::array();
    }
  }

  bool names_another_class(const std::string& path, const Json& base, const Json& over) const {
    if (!over.contains("class") || base.empty()) return false;
    const std::string before = base.contains("class") ? class_name_of(base) : default_class(path);
    return !before.empty() && before != class_name_of(over);
  }

  std::string default_class(const std::string& path) const {
    const std::optional<FoundOption> option = option_at(path);
    return option ? class_name_of(option->by_default) : "";
  }

  /// Nothing for a wrong path, which is reported with all others.
  std::optional<FoundOption> option_at(const std::string& path) const {
    try {
      return find_option(schema_, base_.values, keys_of(path));
    } catch (const UsageError&) {
      return {};
    }
  }

  const Schema& schema_;
  Config& base_;
  const Config& over_;
};

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
  // An item goes with its list: the others' paths must not change.
  while (keys.size() > 1 && index_of(keys.back())) keys.pop_back();
  const std::string outer = path_of(keys), key = keys.back();
  keys.pop_back();
  Json* const object = const_cast<Json*>(find_value(values, keys));
  if (object && object->is_object()) object->erase(key);
  erase_within(origins, outer);
  erase_within(references, outer);
}

void merge(const Schema& schema, Config& base, const Config& over) {
  Merge(schema, base, over).at("", base.values, over.values);
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
      continue;  // a single part in place of a list
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
      if (is_part) found.type->classes()->at(name, join_path(so_far, "class"));
      schema = found.type->is_list() ? nullptr : found.type->inner(name);
      // Another class than the default one has its own defaults.
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
