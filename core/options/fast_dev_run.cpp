#include <levin/core/options/fast_dev_run.h>
#include <levin/core/options/value_type.h>

namespace levin {
namespace {

constexpr const char* kFastDevRunExpected = "true, false or a number of batches";

std::optional<FastDevRun> parse_fast_dev_run(const Json& json) {
  if (json.is_boolean()) return FastDevRun(json.get<bool>());
  if (json.is_number_integer() && json.get<int64_t>() >= 0) return FastDevRun(json.get<int64_t>());
  return {};
}

Json write_fast_dev_run(const FastDevRun& run) { return run ? Json(run.batches()) : Json(false); }

}  // namespace

void FastDevRun::check() const {
  if (batches_ < 0) throw_unexpected("fast_dev_run", kFastDevRunExpected, batches_);
}

const OptionType& OptionTraits<FastDevRun>::type() {
  static const ValueType<FastDevRun> type(kFastDevRunExpected, parse_fast_dev_run, write_fast_dev_run, json_or_text,
                                          /*a_switch=*/true, R"({"type": ["boolean", "integer"], "minimum": 0})");
  return type;
}

}  // namespace levin
