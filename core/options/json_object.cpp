#include <levin/core/options/json_object.h>
#include <levin/core/options/value_type.h>
#include <levin/core/system/json_text.h>

namespace levin {
namespace {

std::optional<JsonObject> parse_json_object(const Json& json) {
  if (!json.is_object()) return {};
  return JsonObject(json_text(json));
}

Json write_json_object(const JsonObject& object) { return Json::parse(object.text()); }

}  // namespace

const OptionType& OptionTraits<JsonObject>::type() {
  static const ValueType<JsonObject> type("an object, such as {\"root\": \"data\", \"size\": 32}", parse_json_object,
                                          write_json_object, json_or_text, /*a_switch=*/false, R"({"type": "object"})");
  return type;
}

}  // namespace levin
