#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace levin {

/// Flattens nested objects to their paths: with the separator ".", {"optimizer": {"lr": 1}} becomes {"optimizer.lr":
/// 1}.
inline nlohmann::ordered_json flat_json(const nlohmann::ordered_json& json, const std::string& separator,
                                        const std::string& path = "") {
  nlohmann::ordered_json flat = nlohmann::ordered_json::object();
  for (const auto& [key, value] : json.items()) {
    const std::string own = path.empty() ? key : path + separator + key;
    if (value.is_object())
      flat.update(flat_json(value, separator, own));
    else
      flat[own] = value;
  }
  return flat;
}

}  // namespace levin
