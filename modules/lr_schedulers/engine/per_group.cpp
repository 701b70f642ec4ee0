#include <levin/modules/lr_schedulers/engine/per_group.h>
#include <levin/core/options/value_type.h>
#include <levin/core/system/error.h>

#include <algorithm>

namespace levin {
namespace {

std::optional<PerGroup> parse(const Json& json) {
  if (json.is_null()) return PerGroup();
  if (json.is_number()) return PerGroup(json.get<double>());
  const auto is_number = [](const Json& item) { return item.is_number(); };
  if (!json.is_array() || json.empty() || !std::all_of(json.begin(), json.end(), is_number)) return std::nullopt;
  return PerGroup(json.get<std::vector<double>>());
}

Json write(const PerGroup& value) {
  if (value.empty()) return nullptr;
  return value.values().size() == 1 ? Json(value.values()[0]) : Json(value.values());
}

}  // namespace

std::vector<double> PerGroup::for_groups(size_t groups, const std::string& path) const {
  if (values_.size() == 1) return std::vector<double>(groups, values_[0]);
  if (values_.size() != groups)
    throw UsageError(path, ": expected one number, or one for each of the optimizer's ", groups,
                     " parameter groups, got ", values_.size());
  return values_;
}

const OptionType& OptionTraits<PerGroup>::type() {
  static const ValueType<PerGroup> type("a number or a list with one for each parameter group", parse, write);
  return type;
}

}  // namespace levin
