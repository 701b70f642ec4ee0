#include <levin/callbacks/registry.h>
#include <levin/core/system/error.h>
#include <levin/core/system/joined.h>
#include <levin/data/registry.h>
#include <levin/data/transforms/registry.h>
#include <levin/modules/adapters/registry.h>
#include <levin/modules/lr_schedulers/registry.h>
#include <levin/modules/metrics/registry.h>
#include <levin/modules/optim/registry.h>
#include <levin/modules/registry.h>
#include <levin/modules/transformers/objectives/objective.h>
#include <levin/program/commands/commands.h>
#include <levin/trainer/loggers/registry.h>
#include <levin/trainer/precision/registry.h>
#include <levin/trainer/profilers/registry.h>
#include <levin/trainer/strategies/registry.h>

#include <algorithm>
#include <iostream>
#include <utility>

namespace levin::cli {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;

Lines lines_of(const ClassList& list) {
  Lines lines;
  for (const ClassInfo& info : list.classes()) lines.emplace_back(info.name, info.help);
  return lines;
}

Lines sorted(Lines lines) {
  std::ranges::sort(lines);
  return lines;
}

constexpr std::pair<const char*, Lines (*)()> kKinds[] = {
    {"models", [] { return lines_of(ModuleKind::registry()); }},
    {"data", [] { return lines_of(data::DataModuleKind::registry()); }},
    {"transforms", [] { return lines_of(data::TransformKind::registry()); }},
    {"optimizers", [] { return lines_of(optim::OptimizerKind::registry()); }},
    {"adapters", [] { return lines_of(AdapterKind::registry()); }},
    {"objectives", [] { return lines_of(nn::ObjectiveKind::registry()); }},
    {"lr_schedulers", [] { return lines_of(LRSchedulerKind::registry()); }},
    {"metrics", [] { return lines_of(metrics::MetricKind::registry()); }},
    {"callbacks", [] { return sorted(lines_of(CallbackKind::registry())); }},
    {"precisions", [] { return lines_of(PrecisionKind::registry()); }},
    {"strategies", [] { return lines_of(StrategyKind::registry()); }},
    {"loggers", [] { return lines_of(LoggerKind::registry()); }},
    {"profilers", [] { return lines_of(ProfilerKind::registry()); }}};

std::vector<std::string> list_kinds() {
  std::vector<std::string> kinds;
  for (const auto& [name, lines] : kKinds) kinds.emplace_back(name);
  return kinds;
}

std::string all_kinds() { return joined(list_kinds()); }

Lines lines_of_kind(const std::string& kind) {
  for (const auto& [name, lines] : kKinds)
    if (kind == name) return lines();
  throw UsageError("levin list: nothing is called '", kind, "'", did_you_mean(kind, list_kinds()),
                   "; there are: ", all_kinds());
}

int run_list(const NoOptions& /*flags*/, const Words& words) {
  const Lines lines = lines_of_kind(words[0]);
  size_t width = 0;
  for (const auto& [name, help] : lines) width = std::max(width, name.size());
  for (const auto& [name, help] : lines) {
    std::cout << name;
    if (!help.empty()) std::cout << std::string(width - name.size() + 2, ' ') << help;
    std::cout << "\n";
  }
  return 0;
}

}  // namespace

Command list_command() {
  return make_command({.name = "list",
                       .summary = "Show the classes that a config can name",
                       .usage = "KIND",
                       .about = "KIND is one of " + all_kinds() + ".",
                       .least = 1,
                       .most = 1,
                       .operands = list_kinds},
                      run_list);
}

}  // namespace levin::cli
