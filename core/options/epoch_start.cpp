#include <levin/core/options/epoch_start.h>
#include <levin/core/options/value_type.h>
#include <levin/core/system/error.h>

namespace levin {
namespace {

constexpr const char* kEpochStartExpected =
    "the number of an epoch, from 1, or a fraction of max_epochs from 0.0 to 1.0";
constexpr const char* kEpochStartSchema = R"({"type": "number", "minimum": 0})";

Json write_epoch_start(const EpochStart& start) {
  return start.is_fraction() ? Json(start.fraction()) : Json(start.number());
}

}  // namespace

void EpochStart::check() const {
  if (number_ ? *number_ < 1 : !(fraction_ >= 0 && fraction_ <= 1))
    throw_unexpected("start", kEpochStartExpected, write_epoch_start(*this));
}

int64_t EpochStart::of(std::optional<int64_t> max_epochs, const std::string& path) const {
  if (number_) return *number_;
  if (!max_epochs)
    throw UsageError(path, ": a fraction (", fraction_, ") needs max_epochs; set it, or give the number of an epoch");
  return static_cast<int64_t>(static_cast<double>(*max_epochs) * fraction_);
}

const OptionType& OptionTraits<EpochStart>::type() {
  static const ValueType<EpochStart> type(kEpochStartExpected, count_or_fraction<EpochStart>, write_epoch_start,
                                          json_or_text,
                                          /*a_switch=*/false, kEpochStartSchema);
  return type;
}

}  // namespace levin
