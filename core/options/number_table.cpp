#include <levin/core/options/number_table.h>
#include <levin/core/options/value_type.h>

#include <cmath>
#include <cstdint>

namespace levin {
namespace {

/// Whole numbers are written as such.
Json write_number_table(const NumberTable& table) {
  constexpr double kMostExact = 9007199254740992;
  Json json = Json::object();
  for (const auto& [name, number] : table.values()) {
    if (std::trunc(number) == number && std::abs(number) <= kMostExact)
      json[name] = static_cast<int64_t>(number);
    else
      json[name] = number;
  }
  return json;
}

std::optional<NumberTable> parse_number_table(const Json& json) {
  if (!json.is_object()) return {};
  std::map<std::string, double> values;
  for (const auto& [name, number] : json.items()) {
    if (!number.is_number()) return {};
    values[name] = number.get<double>();
  }
  return NumberTable(std::move(values));
}

}  // namespace

const OptionType& OptionTraits<NumberTable>::type() {
  static const ValueType<NumberTable> type("an object of names and numbers, such as {\"labels\": -100}",
                                           parse_number_table, write_number_table, json_or_text, /*a_switch=*/false,
                                           R"({"type": "object", "additionalProperties": {"type": "number"}})");
  return type;
}

}  // namespace levin
