#include <levin/trainer/core/check_interval.h>
#include <levin/trainer/core/error.h>
#include <levin/trainer/core/value_type.h>

namespace levin {
namespace {

constexpr const char* kExpected = "a number of batches from 1, a fraction of the epoch up to 1.0, or \"DD:HH:MM:SS\"";

Json write(const CheckInterval& interval) {
  if (interval.time()) return interval.time()->to_text();
  return interval.is_fraction() ? Json(interval.fraction()) : Json(interval.count());
}

std::optional<CheckInterval> parse(const Json& json) try {
  if (json.is_number_float()) return CheckInterval(json.get<double>());
  if (json.is_number_integer()) return CheckInterval(json.get<int64_t>());
  if (json.is_string()) return CheckInterval(Duration(json.get<std::string>()));
  return {};
} catch (const UsageError&) {
  return {};
}

}  // namespace

void CheckInterval::check() const {
  if (batches_ ? *batches_ < 1 : !(fraction_ > 0 && fraction_ <= 1))
    throw_unexpected("interval of validation", kExpected, write(*this));
}

const OptionType& OptionTraits<CheckInterval>::type() {
  static const ValueType<CheckInterval> type(kExpected, parse, write);
  return type;
}

}  // namespace levin
