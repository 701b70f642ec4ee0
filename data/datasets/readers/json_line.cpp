#include <levin/data/datasets/readers/json_line.h>
#include <levin/core/state/json_depth.h>
#include <levin/core/system/error.h>

namespace levin::data {
namespace {

constexpr size_t kMostLineLevels = 100, kMostNamedFields = 20, kMostNameBytes = 100;

}  // namespace

nlohmann::json parse_json_line(std::string_view line, const std::string& place) {
  if (is_nested_deeper(line, kMostLineLevels))
    throw UsageError(place, ": expected at most ", kMostLineLevels, " levels of lists and objects");
  try {
    nlohmann::json json = nlohmann::json::parse(line);
    if (json.is_object()) return json;
    throw UsageError(place, ": expected a JSON object, {\"text\": ...}, and this is ", json.type_name());
  } catch (const nlohmann::json::parse_error& error) {
    throw UsageError(place, ": is no JSON, at byte ", error.byte,
                     " of the line; each line is one JSON object in UTF-8");
  } catch (const nlohmann::json::exception&) {
    throw UsageError(place, ": has a number that is too large");
  }
}

std::string fields_there(const nlohmann::json& json) {
  std::string there;
  size_t count = 0;
  for (const auto& member : json.items()) {
    if (++count > kMostNamedFields) break;
    there += (there.empty() ? "" : ", ") + member.key().substr(0, kMostNameBytes);
  }
  if (count == 0) return "there is none";
  return "there are " + there + (count > kMostNamedFields ? ", ..." : "");
}

const nlohmann::json& field_of(const nlohmann::json& json, const std::string& field, const std::string& place) {
  const auto found = json.find(field);
  if (found == json.end()) throw UsageError(place, ": has no ", field, "; ", fields_there(json));
  return *found;
}

std::string text_of_field(const nlohmann::json& json, const std::string& field, const std::string& place) {
  const nlohmann::json& value = field_of(json, field, place);
  if (!value.is_string()) throw UsageError(place, ": ", field, " is ", value.type_name(), ", not a text");
  return value.get<std::string>();
}

}  // namespace levin::data
