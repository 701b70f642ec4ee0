#include <levin/trainer/profilers/simple_profiler.h>
#include <levin/core/run/stage.h>
#include <levin/core/system/console.h>
#include <levin/core/system/json_text.h>
#include <levin/trainer/profilers/text_table.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

namespace levin {
namespace {

std::string number(double value, const char* format) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

}  // namespace

std::string profile_table(const ProfileTotals& totals, bool extended) {
  std::vector<ProfiledAction> actions = totals.actions;
  std::ranges::stable_sort(actions, std::greater(), &ProfiledAction::seconds);
  std::vector<TableRow> rows = {
      extended ? TableRow{"Action", "Mean duration (s)", "Num calls", "Total time (s)", "Self time (s)", "Percentage %"}
               : TableRow{"Action", "Mean duration (s)", "Total time (s)"}};
  int64_t calls = 0;
  for (const ProfiledAction& one : actions) calls += one.calls;
  const std::string whole = number(totals.seconds, "%.5g");
  rows.push_back(extended ? TableRow{"Total", "-", std::to_string(calls), whole, "-", "100"}
                          : TableRow{"Total", "-", whole});
  for (const ProfiledAction& one : actions) {
    const std::string mean = number(one.seconds / static_cast<double>(one.calls), "%.5g");
    const std::string total = number(one.seconds, "%.5g");
    rows.push_back(extended
                       ? TableRow{one.action, mean, std::to_string(one.calls), total, number(one.self_seconds, "%.5g"),
                                  number(100 * one.seconds / totals.seconds, "%.2f")}
                       : TableRow{one.action, mean, total});
  }
  return text_table(rows, /*totals=*/1);
}

std::string profile_json(const ProfileTotals& totals, const Profiler::Output& output) {
  nlohmann::ordered_json actions = nlohmann::ordered_json::array();
  for (const ProfiledAction& one : totals.actions)
    actions.push_back(
        {{"action", one.action}, {"calls", one.calls}, {"seconds", one.seconds}, {"self_seconds", one.self_seconds}});
  const nlohmann::ordered_json json = {{"stage", to_string(output.stage)},
                                       {"rank", output.rank},
                                       {"world_size", output.world_size},
                                       {"seconds", totals.seconds},
                                       {"actions", std::move(actions)}};
  return json_text(json, 1) + "\n";
}

void SimpleProfiler::begin(const Output& output) {
  output_ = output;
  files_ = ProfileFiles(options_.files, output, "simple", ".txt");
}

void SimpleProfiler::end() {
  if (!output_) return;
  const ProfileTotals totals = this->totals();
  const std::string text = title_of(output_->stage) + " Profiler Report\n" + profile_table(totals, options_.extended);
  if (output_->prints) console::info(text);
  files_.write(".txt", text);
  files_.write(".json", profile_json(totals, *output_));
}

}  // namespace levin
