#include <levin/trainer/profilers/advanced_profiler.h>
#include <c10/util/StringUtil.h>
#include <levin/core/run/stage.h>
#include <levin/core/system/console.h>
#include <levin/core/system/json_text.h>
#include <levin/trainer/profilers/text_table.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace levin {
namespace {

std::string seconds_text(int64_t nanoseconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", static_cast<double>(nanoseconds) * 1e-9);
  return text;
}

int64_t self_time(const std::vector<OperatorTotal>& operators) {
  int64_t sum = 0;
  for (const OperatorTotal& one : operators) sum += one.self_nanoseconds;
  return sum;
}

}  // namespace

void AdvancedProfiler::begin(const Output& output) {
  output_ = output;
  files_ = ProfileFiles(options_.files, output, "advanced", ".txt");
  operators_.emplace(*this);
  if (!operators_->is_counting())
    console::warn(
        "trainer.profiler: advanced profiles another run of this process, so this one's profile has no operators");
}

std::vector<AdvancedProfiler::OfAction> AdvancedProfiler::by_action() const {
  std::map<int, std::vector<OperatorTotal>> found;
  for (OperatorTotal& total : operators_->totals()) found[total.action].push_back(std::move(total));
  std::vector<OfAction> actions;
  for (auto& [number, operators] : found) {
    std::ranges::stable_sort(operators, std::greater(), &OperatorTotal::self_nanoseconds);
    actions.push_back({number < 0 ? "(outside of actions)" : name_of(number), std::move(operators)});
  }
  std::ranges::stable_sort(actions, std::greater(), [](const OfAction& one) { return self_time(one.operators); });
  return actions;
}

void AdvancedProfiler::end() {
  if (!operators_) return;
  const std::vector<OfAction> actions = by_action();
  operators_.reset();
  const std::string text = text_of(actions);
  if (output_->prints) console::info(text);
  files_.write(".txt", text);
  files_.write(".json", json_of(actions));
}

std::string AdvancedProfiler::text_of(const std::vector<OfAction>& actions) const {
  std::string text = title_of(output_->stage) + " Profiler Report\n";
  const auto shown = static_cast<size_t>(options_.operators);
  for (const OfAction& one : actions) {
    text += c10::str("Profile stats for: ", one.action, ", operators with ", seconds_text(self_time(one.operators)),
                     " s\n");
    std::vector<TableRow> rows = {{"Operator", "Num calls", "Self time (s)", "Total time (s)"}};
    for (const OperatorTotal& total : one.operators) {
      if (rows.size() > shown) break;
      rows.push_back({total.name, std::to_string(total.calls), seconds_text(total.self_nanoseconds),
                      seconds_text(total.nanoseconds)});
    }
    text += text_table(rows);
    if (one.operators.size() > shown) text += c10::str("and ", one.operators.size() - shown, " more\n");
  }
  return text;
}

std::string AdvancedProfiler::json_of(const std::vector<OfAction>& actions) const {
  Json list = Json::array();
  for (const OfAction& one : actions) {
    Json operators = Json::array();
    for (const OperatorTotal& total : one.operators)
      operators.push_back({{"operator", total.name},
                           {"calls", total.calls},
                           {"seconds", static_cast<double>(total.nanoseconds) * 1e-9},
                           {"self_seconds", static_cast<double>(total.self_nanoseconds) * 1e-9}});
    list.push_back({{"action", one.action}, {"operators", std::move(operators)}});
  }
  const Json json = {{"stage", to_string(output_->stage)},
                     {"rank", output_->rank},
                     {"world_size", output_->world_size},
                     {"actions", std::move(list)}};
  return json_text(json, 1) + "\n";
}

}  // namespace levin
