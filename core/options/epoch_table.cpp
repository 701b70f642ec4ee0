#include <levin/core/options/epoch_table.h>
#include <levin/core/options/value_type.h>

#include <charconv>

namespace levin {
namespace {

constexpr const char* kEpochTableExpected =
    "an object of epochs (from 0) and numbers (from 1), such as {\"0\": 8, \"4\": 4}";

Json write_epoch_table(const EpochTable& table) {
  Json json = Json::object();
  for (const auto& [epoch, value] : table.values()) json[std::to_string(epoch)] = value;
  return json;
}

std::optional<EpochTable> parse_epoch_table(const Json& json) {
  if (!json.is_object()) return {};
  std::map<int64_t, int64_t> values;
  for (const auto& [key, value] : json.items()) {
    int64_t epoch = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), epoch);
    const bool whole_key = error == std::errc() && end == key.data() + key.size();
    if (!whole_key || epoch < 0 || !value.is_number_integer() || value.get<int64_t>() < 1) return {};
    values[epoch] = value.get<int64_t>();
  }
  return EpochTable(std::move(values));
}

}  // namespace

EpochTable::EpochTable(std::initializer_list<std::pair<const int64_t, int64_t>> values) : values_(values) { check(); }
EpochTable::EpochTable(std::map<int64_t, int64_t> values) : values_(std::move(values)) { check(); }

void EpochTable::check() const {
  for (const auto& [epoch, value] : values_)
    if (epoch < 0 || value < 1) throw_unexpected("table of epochs", kEpochTableExpected, write_epoch_table(*this));
}

int64_t EpochTable::at(int64_t epoch, int64_t before) const {
  const auto next = values_.upper_bound(epoch);
  return next == values_.begin() ? before : std::prev(next)->second;
}

const OptionType& OptionTraits<EpochTable>::type() {
  static const ValueType<EpochTable> type(
      kEpochTableExpected, parse_epoch_table, write_epoch_table, json_or_text, /*a_switch=*/false,
      R"({"type": "object", "patternProperties": {"^[0-9]+$": {"type": "integer", "minimum": 1}}, "additionalProperties": false})");
  return type;
}

}  // namespace levin
