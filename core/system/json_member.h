#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace levin {

/// Adds a member to an object that has none of that name: json[name] looks through all others before, which takes long
/// for very many.
inline void add_member(nlohmann::ordered_json& json, const std::string& name, nlohmann::ordered_json value) {
  json.get_ref<nlohmann::ordered_json::object_t&>().emplace_back(name, std::move(value));
}

}  // namespace levin
