#pragma once
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

namespace levin {

/// Returns `value` as JSON: a number, or the text "NaN", "Infinity" or "-Infinity", because JSON has no such numbers.
inline nlohmann::ordered_json json_number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

/// Returns `json` as text; bytes that are not UTF-8 become U+FFFD. `indent`: -1 writes one line.
inline std::string json_text(const nlohmann::ordered_json& json, int indent = -1) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace levin
