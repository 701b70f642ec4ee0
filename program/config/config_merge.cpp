#include <levin/core/options/class_list.h>
#include <levin/core/system/error.h>
#include <levin/program/config/config.h>
#include <levin/program/config/config_path.h>

#include <map>
#include <optional>
#include <string_view>

namespace levin::cli {
namespace {

/// The suffix of a key whose values are appended to a list: "callbacks+=".
constexpr std::string_view kAdds = "+=";

bool adds_to_list(const std::string& key) { return key.size() > kAdds.size() && key.ends_with(kAdds); }

/// Returns whether all keys of an object are indices of list items.
bool is_indexed(const Json& object) {
  bool indexed = !object.empty();
  for (const auto& item : object.items()) indexed = indexed && index_of(item.key());
  return indexed;
}

/// Merges the values at one path.
class Merge {
 public:
  Merge(const Schema& schema, Config& base, const Config& over) : schema_(schema), base_(base), over_(over) {}

  void at(const std::string& path, Json& base, const Json& over) {
    if (!over.is_object()) return replace(path, base, over);
    if (is_indexed(over)) return into_items(path, base, over);
    if (base.is_string()) {
      // "AdamW" is short for {"class": "AdamW"}.
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
    // First, because the class determines the default lists.
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
    // Objects in a list may themselves have keys with "+=".
    if (base.is_array())
      for (size_t i = 0; i < base.size(); ++i)
        if (base[i].is_object()) at(item_path(path, i), base[i] = nullptr, over[i]);
  }

  /// Copies the origins of the values at `from` to the values now at `to`.
  void take_origins(const std::string& from, const std::string& to) {
    for (const auto& [where, origin] : over_.origins)
      if (is_within(where, from)) base_.origins[to + where.substr(from.size())] = origin;
  }

  /// Changes single items; the keys of `over` are "[index]".
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

  /// Turns the value at `path` into a list that can be appended to: a single class becomes a list of one, an unset list
  /// becomes its default. `asked` is the name in errors.
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

  /// Returns nullopt for a wrong path, which is reported later with all problems.
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

}  // namespace

void merge(const Schema& schema, Config& base, const Config& over) {
  Merge(schema, base, over).at("", base.values, over.values);
}

}  // namespace levin::cli
