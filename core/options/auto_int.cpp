#include <levin/core/options/auto_int.h>
#include <levin/core/options/value_type.h>
#include <levin/core/system/error.h>

namespace levin {

AutoInt::AutoInt(const char* word) {
  if (std::string_view(word) != "auto") throw UsageError("expected a whole number or \"auto\", got \"", word, "\"");
}

const OptionType& OptionTraits<AutoInt>::type() {
  static const ValueType<AutoInt> type(
      "a whole number or \"auto\"",
      [](const Json& json) -> std::optional<AutoInt> {
        if (json == "auto") return AutoInt();
        if (json.is_number_integer()) return AutoInt(json.get<int64_t>());
        return {};
      },
      [](const AutoInt& value) -> Json { return value.is_auto() ? Json("auto") : Json(value.value_or(0)); },
      json_or_text, /*a_switch=*/false, R"({"type": ["integer", "string"], "pattern": "^auto$"})");
  return type;
}

}  // namespace levin
