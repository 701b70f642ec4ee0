#include <levin/trainer/precision/precision.h>
#include <levin/core/options/value_type.h>
#include <levin/core/system/error.h>
#include <levin/trainer/precision/registry.h>

#include <utility>

namespace levin {
namespace {

constexpr std::pair<const char*, const char*> kBrief[] = {
    {"32", "32-true"}, {"64", "64-true"}, {"16", "16-mixed"}, {"bf16", "bf16-mixed"}};

std::string full_name(const std::string& name) {
  for (const auto& [brief, full] : kBrief)
    if (name == brief) return full;
  return name;
}

std::string name_of_bits(int bits) {
  if (bits != 16 && bits != 32 && bits != 64) throw UsageError("precision: expected 16, 32 or 64 bits, got ", bits);
  return full_name(std::to_string(bits));
}

/// A class by name; 16, 32, 64, "16", "32", "64" and "bf16" are names too. A class without options is written as its
/// name; null stands for the default.
class PrecisionType final : public PartType {
 public:
  PrecisionType() : PartType([]() -> const ClassList& { return PrecisionKind::registry(); }) {}

  std::string expected() const override { return "16, 32, 64 or " + PartType::expected(); }
  Json get(const void* value) const override {
    Json json = PartType::get(value);
    return json.size() == 1 ? json["class"] : json;
  }
  void set(void* value, const std::string& path, const Json& json, const Limits& limits) const override {
    if (json.is_null())
      *static_cast<Precision*>(value) = Precision();
    else if (json.is_number_integer())
      PartType::set(value, path, full_name(json.dump()), limits);
    else if (json.is_string())
      PartType::set(value, path, full_name(json.get<std::string>()), limits);
    else
      PartType::set(value, path, json, limits);
  }
  Json json_schema() const override { return {{"enum", {16, 32, 64, "16", "32", "64", "bf16"}}}; }
};

}  // namespace

Precision::Precision() : ClassChoice("32-true") {}
Precision::Precision(int bits) : ClassChoice(name_of_bits(bits)) {}
Precision::Precision(const std::string& name) : ClassChoice(full_name(name)) {}

bool Precision::operator==(const Precision& other) const {
  const OptionType& type = OptionTraits<Precision>::type();
  return name() == other.name() && type.get(this) == type.get(&other);
}

const OptionType& OptionTraits<Precision>::type() {
  static_assert(sizeof(Precision) == sizeof(PartValue));  // PartType reads the PartValue
  static const PrecisionType type;
  return type;
}

}  // namespace levin
