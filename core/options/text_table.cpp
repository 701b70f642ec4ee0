#include <levin/core/options/text_table.h>
#include <levin/core/options/value_type.h>

namespace levin {
namespace {

Json write_text_table(const TextTable& table) {
  Json json = Json::object();
  for (const auto& [name, text] : table.values()) json[name] = text;
  return json;
}

std::optional<TextTable> parse_text_table(const Json& json) {
  if (!json.is_object()) return {};
  std::map<std::string, std::string> values;
  for (const auto& [name, text] : json.items()) {
    if (!text.is_string()) return {};
    values[name] = text.get<std::string>();
  }
  return TextTable(std::move(values));
}

}  // namespace

const OptionType& OptionTraits<TextTable>::type() {
  static const ValueType<TextTable> type("an object of names and texts, such as {\"team\": \"vision\"}",
                                         parse_text_table, write_text_table, json_or_text, /*a_switch=*/false,
                                         R"({"type": "object", "additionalProperties": {"type": "string"}})");
  return type;
}

}  // namespace levin
