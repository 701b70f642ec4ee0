#include <levin/program/profile/config_values.h>

#include <nlohmann/json.hpp>

namespace levin {

Json::json_pointer pointer_of(const std::string& path) {
  std::string pointer = "/";
  for (const char c : path) {
    if (c == '.' || c == '[')
      pointer += '/';
    else if (c != ']')
      pointer += c;
  }
  return Json::json_pointer(pointer);
}

Json value_at(const Json& config, const std::string& path) {
  const Json::json_pointer pointer = pointer_of(path);
  return config.contains(pointer) ? config.at(pointer) : Json();
}

bool has(const Json& config, const std::string& path) { return config.contains(pointer_of(path)); }

ProfileChange change_of(const Json& config, const std::string& path, const Json& after) {
  return {.path = path, .before = value_at(config, path).dump(), .after = after.dump()};
}

bool is_true(const Json& value) { return value.is_boolean() && value.get<bool>(); }

bool is_unset_or_true(const Json& value) { return value.is_null() || is_true(value); }

}  // namespace levin
