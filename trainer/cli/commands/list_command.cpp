#include <levin/callbacks/registry.h>
#include <levin/data/registry.h>
#include <levin/data/transforms/registry.h>
#include <levin/modules/lr_schedulers/registry.h>
#include <levin/modules/optim/registry.h>
#include <levin/modules/registry.h>
#include <levin/trainer/cli/commands/commands.h>
#include <levin/trainer/core/system/error.h>
#include <levin/trainer/loggers/registry.h>
#include <levin/trainer/profilers/registry.h>

#include <algorithm>
#include <iostream>
#include <utility>

namespace levin::cli {
namespace {

constexpr const char* kKinds = "models, data, transforms, optimizers, lr_schedulers, callbacks, loggers, profilers";

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

Lines lines_of_kind(const std::string& kind) {
  if (kind == "models") return lines_of(ModuleKind::registry());
  if (kind == "data") return lines_of(data::DataModuleKind::registry());
  if (kind == "transforms") return lines_of(data::TransformKind::registry());
  if (kind == "optimizers") return lines_of(optim::OptimizerKind::registry());
  if (kind == "lr_schedulers") return lines_of(LRSchedulerKind::registry());
  if (kind == "callbacks") return sorted(lines_of(CallbackKind::registry()));
  if (kind == "loggers") return lines_of(LoggerKind::registry());
  if (kind == "profilers") return lines_of(ProfilerKind::registry());
  throw UsageError("levin list: nothing is called '", kind, "'",
                   did_you_mean(kind, {"models", "data", "transforms", "optimizers", "lr_schedulers", "callbacks",
                                       "loggers", "profilers"}),
                   "; there are: ", kKinds);
}

}  // namespace

void list_command(const std::vector<std::string>& arguments) {
  if (arguments.size() != 1) throw UsageError("levin list: expected one of ", kKinds);
  const Lines lines = lines_of_kind(arguments[0]);
  size_t width = 0;
  for (const auto& [name, help] : lines) width = std::max(width, name.size());
  for (const auto& [name, help] : lines) {
    std::cout << name;
    if (!help.empty()) std::cout << std::string(width - name.size() + 2, ' ') << help;
    std::cout << "\n";
  }
  std::cout.flush();
}

}  // namespace levin::cli
