#include <levin/core/options/check_interval.h>
#include <levin/core/options/value_type.h>
#include <levin/core/system/error.h>

#include <algorithm>

namespace levin {
namespace {

constexpr const char* kCheckIntervalExpected =
    "a number of batches from 1, a fraction of the epoch up to 1.0, or \"DD:HH:MM:SS\"";
constexpr const char* kCheckIntervalSchema =
    R"({"type": ["number", "string"], "exclusiveMinimum": 0, "pattern": "^[0-9]{1,2}(:[0-9]{1,2}){3}$"})";

Json write_check_interval(const CheckInterval& interval) {
  if (interval.time()) return interval.time()->to_text();
  return interval.is_fraction() ? Json(interval.fraction()) : Json(interval.count());
}

std::optional<CheckInterval> parse_check_interval(const Json& json) try {
  if (json.is_string()) return CheckInterval(Duration(json.get<std::string>()));
  return count_or_fraction<CheckInterval>(json);
} catch (const UsageError&) {
  return {};
}

}  // namespace

void CheckInterval::check() const {
  if (batches_ ? *batches_ < 1 : !(fraction_ > 0 && fraction_ <= 1))
    throw_unexpected("interval of validation", kCheckIntervalExpected, write_check_interval(*this));
}

std::optional<int64_t> CheckInterval::of(std::optional<int64_t> epoch_batches, const std::string& path) const {
  if (batches_ && epoch_batches && *batches_ > *epoch_batches)
    throw UsageError(path, ": validation every ", *batches_, " batches would never come in an epoch of ",
                     *epoch_batches, "; lower it, or unset it");
  if (batches_) return batches_;
  if (fraction_ == 1) return {};
  if (!epoch_batches)
    throw UsageError(path, ": a fraction (", fraction_,
                     ") needs a train loader that knows its size; give a number of batches");
  return std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(*epoch_batches) * fraction_));
}

const OptionType& OptionTraits<CheckInterval>::type() {
  static const ValueType<CheckInterval> type(kCheckIntervalExpected, parse_check_interval, write_check_interval,
                                             json_or_text, /*a_switch=*/false, kCheckIntervalSchema);
  return type;
}

}  // namespace levin
