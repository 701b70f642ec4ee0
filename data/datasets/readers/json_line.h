#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace levin::data {

/// Reads a line that is a JSON object. Throws levin::UsageError that begins with `place` for one that is none, or whose
/// lists and objects are nested too deeply.
nlohmann::json parse_json_line(std::string_view line, const std::string& place);

/// Returns a field of a line. Throws levin::UsageError that begins with `place` if there is none.
const nlohmann::json& field_of(const nlohmann::json& json, const std::string& field, const std::string& place);
/// Returns a field's text. Throws levin::UsageError that begins with `place` if it is none.
std::string text_of_field(const nlohmann::json& json, const std::string& field, const std::string& place);

/// Returns which fields an object has, for messages: "there are a, b".
std::string fields_there(const nlohmann::json& json);

}  // namespace levin::data
