#include <levin/core/options/precision.h>
#include <levin/core/options/value_type.h>

#include <utility>

namespace levin {
namespace {

constexpr const char* kPrecisionExpected =
    "32, 64, 16, bf16, 32-true, 64-true, 16-mixed, bf16-mixed, 16-true or bf16-true";
constexpr const char* kPrecisionSchema =
    R"({"enum": [16, 32, 64, "32", "64", "16", "bf16", "32-true", "64-true", "16-mixed", "bf16-mixed", "16-true",
                 "bf16-true"]})";

std::string full_name(const std::string& name) {
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"32", "32-true"}, {"64", "64-true"}, {"16", "16-mixed"}, {"bf16", "bf16-mixed"}};
  for (const auto& [brief, full] : kNames)
    if (name == brief || name == full) return full;
  for (const char* full : {"16-true", "bf16-true"})
    if (name == full) return full;
  return "";
}

std::optional<Precision> parse_precision(const Json& json) {
  std::string name;
  if (json.is_string()) name = json.get<std::string>();
  if (json.is_number_integer()) name = json.dump();
  if (full_name(name).empty()) return {};
  return Precision(name);
}

}  // namespace

Precision::Precision(const std::string& name) : name_(full_name(name)) {
  if (name_.empty()) throw_unexpected("precision", kPrecisionExpected, name);
}

const OptionType& OptionTraits<Precision>::type() {
  static const ValueType<Precision> type(
      kPrecisionExpected, parse_precision, [](const Precision& value) -> Json { return value.name(); }, json_or_text,
      /*a_switch=*/false, kPrecisionSchema);
  return type;
}

}  // namespace levin
