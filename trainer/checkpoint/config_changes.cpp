#include <levin/trainer/checkpoint/config_changes.h>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace levin {
namespace {

using ConfigJson = nlohmann::ordered_json;

std::string value_text(const ConfigJson* value) { return value == nullptr ? "unset" : value->dump(); }

bool is_of_environment(const std::string& text) { return text.find("${env:") != std::string::npos; }

std::string change_text(const std::string& before, const std::string& now) {
  // One value may be the secret that the other refers to.
  if (is_of_environment(before) != is_of_environment(now)) return "now or then a value of the environment";
  return now + " (it was " + before + ")";
}

const ConfigJson* member(const ConfigJson& object, const std::string& key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

void add_changes(const std::string& path, const ConfigJson* before, const ConfigJson* now,
                 std::vector<std::string>& changes) {
  if (before != nullptr && now != nullptr && *before == *now) return;
  const bool both_objects = before != nullptr && now != nullptr && before->is_object() && now->is_object();
  if (!both_objects) {
    changes.push_back(path + ": " + change_text(value_text(before), value_text(now)));
    return;
  }
  std::vector<std::string> keys;
  for (const ConfigJson* object : {before, now})
    for (const auto& item : object->items())
      if (std::find(keys.begin(), keys.end(), item.key()) == keys.end()) keys.push_back(item.key());
  for (const std::string& key : keys)
    add_changes(path.empty() ? key : path + "." + key, member(*before, key), member(*now, key), changes);
}

}  // namespace

std::vector<std::string> config_changes(const std::string& before, const std::string& now) {
  const auto first = ConfigJson::parse(before, nullptr, /*allow_exceptions=*/false);
  const auto second = ConfigJson::parse(now, nullptr, /*allow_exceptions=*/false);
  std::vector<std::string> changes;
  if (first.is_object() && second.is_object()) add_changes("", &first, &second, changes);
  return changes;
}

}  // namespace levin
