#include <levin/trainer/core/batch_limit.h>
#include <levin/trainer/core/error.h>
#include <levin/trainer/core/value_type.h>

namespace levin {
namespace {

constexpr const char* kExpected = "a number of batches or a fraction from 0.0 to 1.0";

Json write(const BatchLimit& limit) { return limit.is_fraction() ? Json(limit.fraction()) : Json(limit.count()); }

std::optional<BatchLimit> parse(const Json& json) try {
  if (json.is_number_float()) return BatchLimit(json.get<double>());
  if (json.is_number_integer()) return BatchLimit(json.get<int64_t>());
  return {};
} catch (const UsageError&) {
  return {};
}

}  // namespace

void BatchLimit::check() const {
  if (count_ ? *count_ < 0 : !(fraction_ >= 0 && fraction_ <= 1))
    throw_unexpected("limit of batches", kExpected, write(*this));
}

const OptionType& OptionTraits<BatchLimit>::type() {
  static const ValueType<BatchLimit> type(kExpected, parse, write);
  return type;
}

}  // namespace levin
