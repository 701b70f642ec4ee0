#include <levin/core/options/batch_limit.h>
#include <levin/core/options/value_type.h>
#include <levin/core/system/error.h>

#include <algorithm>

namespace levin {
namespace {

constexpr const char* kBatchLimitExpected = "a number of batches or a fraction from 0.0 to 1.0";
constexpr const char* kBatchLimitSchema = R"({"type": "number", "minimum": 0})";

Json write_batch_limit(const BatchLimit& limit) {
  return limit.is_fraction() ? Json(limit.fraction()) : Json(limit.count());
}

}  // namespace

void BatchLimit::check() const {
  if (count_ ? *count_ < 0 : !(fraction_ >= 0 && fraction_ <= 1))
    throw_unexpected("limit of batches", kBatchLimitExpected, write_batch_limit(*this));
}

std::optional<int64_t> BatchLimit::of(std::optional<int64_t> batches, const std::string& path) const {
  if (count_) return batches ? std::min(*count_, *batches) : *count_;
  if (fraction_ == 0) return 0;
  if (fraction_ == 1) return batches;
  if (!batches)
    throw UsageError(path, ": a fraction (", fraction_,
                     ") needs a loader that knows its size; give a number of batches");
  const auto part = static_cast<int64_t>(static_cast<double>(*batches) * fraction_);
  if (part == 0 && *batches > 0)
    throw UsageError(path, ": ", fraction_, " of ", *batches, " batches is less than one; raise it");
  return part;
}

const OptionType& OptionTraits<BatchLimit>::type() {
  static const ValueType<BatchLimit> type(kBatchLimitExpected, count_or_fraction<BatchLimit>, write_batch_limit,
                                          json_or_text,
                                          /*a_switch=*/false, kBatchLimitSchema);
  return type;
}

}  // namespace levin
