#include <levin/data/datasets/readers/convert_field.h>
#include <ATen/ops/equal.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace levin::data {
namespace {

constexpr std::array<std::pair<const char*, at::ScalarType>, 10> kFieldTypes = {{{"uint8", at::kByte},
                                                                                 {"int8", at::kChar},
                                                                                 {"int16", at::kShort},
                                                                                 {"int32", at::kInt},
                                                                                 {"int64", at::kLong},
                                                                                 {"float16", at::kHalf},
                                                                                 {"bfloat16", at::kBFloat16},
                                                                                 {"float32", at::kFloat},
                                                                                 {"float64", at::kDouble},
                                                                                 {"bool", at::kBool}}};

/// The numbers that an integer type holds without a change: as floating-point numbers, those that come back from it. Of
/// integers all but the largest of uint64 are compared as int64, since a type of the same width gives back what it
/// wrapped, and since LibTorch compares few of the unsigned types.
bool keeps_values(const at::Tensor& values, const at::Tensor& converted) {
  if (values.is_floating_point()) {
    constexpr double kLimit = 9223372036854775808.0;  // from here on the conversion to int64 is undefined
    return values.abs().lt(kLimit).all().item<bool>() && at::equal(converted.to(values.scalar_type()), values);
  }
  const at::Tensor numbers = values.to(at::kLong);
  if (values.scalar_type() == at::kUInt64 && numbers.lt(0).any().item<bool>()) return false;
  return at::equal(converted.to(at::kLong), numbers);
}

/// Floating-point types round, but what is finite stays finite.
bool keeps_finite(const at::Tensor& values, const at::Tensor& converted) {
  return at::equal(converted.isinf(), values.isinf());
}

}  // namespace

std::map<std::string, at::ScalarType> field_types_of(const FieldOptions& options) {
  std::map<std::string, at::ScalarType> types;
  for (const auto& [field, word] : options.dtypes.values()) {
    const auto* const found =
        std::ranges::find_if(kFieldTypes, [&, &name = word](const auto& known) { return name == known.first; });
    if (found == kFieldTypes.end()) {
      std::vector<std::string> words;
      for (const auto& known : kFieldTypes) words.emplace_back(known.first);
      throw UsageError("data.dtypes: '", word, "' of ", field, " is no type", did_you_mean(word, words));
    }
    types[field] = found->second;
  }
  return types;
}

at::Tensor convert_field(const at::Tensor& values, at::ScalarType type, const std::string& field) {
  if (values.scalar_type() == type) return values;
  at::Tensor converted = values.to(type);
  const bool to_integers = c10::isIntegralType(type, /*includeBool=*/true);
  if (values.scalar_type() == at::kBool) return converted;
  if (to_integers ? keeps_values(values, converted) : keeps_finite(values, converted)) return converted;
  throw UsageError("data.dtypes: '", field, "' holds ", values.scalar_type(), " values that ", type,
                   " does not have: fractions, or numbers that are too large; choose another type");
}

}  // namespace levin::data
