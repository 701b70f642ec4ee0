#include <levin/core/options/deterministic.h>
#include <levin/core/options/value_type.h>

namespace levin {
namespace {

constexpr const char* kDeterministicExpected = "true, false or \"warn\"";

std::optional<Deterministic> parse_deterministic(const Json& json) {
  if (json.is_boolean()) return Deterministic(json.get<bool>());
  if (json == "warn") return Deterministic("warn");
  return {};
}

Json write_deterministic(const Deterministic& value) {
  return value.mode() == Deterministic::Mode::Warn ? Json("warn") : Json(static_cast<bool>(value));
}

}  // namespace

Deterministic::Deterministic(const std::string& text) : mode_(Mode::Warn) {
  if (text != "warn") throw_unexpected("deterministic", kDeterministicExpected, text);
}

const OptionType& OptionTraits<Deterministic>::type() {
  static const ValueType<Deterministic> type(kDeterministicExpected, parse_deterministic, write_deterministic,
                                             json_or_text, /*a_switch=*/true, R"({"enum": [true, false, "warn"]})");
  return type;
}

}  // namespace levin
