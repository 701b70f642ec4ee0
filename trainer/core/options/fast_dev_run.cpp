#include <levin/trainer/core/options/fast_dev_run.h>
#include <levin/trainer/core/options/value_type.h>

namespace levin {
namespace {

constexpr const char* kExpected = "true, false or a number of batches";

std::optional<FastDevRun> parse(const Json& json) {
  if (json.is_boolean()) return FastDevRun(json.get<bool>());
  if (json.is_number_integer() && json.get<int64_t>() >= 0) return FastDevRun(json.get<int64_t>());
  return {};
}

Json write(const FastDevRun& run) { return run ? Json(run.batches()) : Json(false); }

}  // namespace

void FastDevRun::check() const {
  if (batches_ < 0) throw_unexpected("fast_dev_run", kExpected, batches_);
}

const OptionType& OptionTraits<FastDevRun>::type() {
  static const ValueType<FastDevRun> type(kExpected, parse, write, json_or_text, /*a_switch=*/true,
                                          R"({"type": ["boolean", "integer"], "minimum": 0})");
  return type;
}

}  // namespace levin
