#include <ATen/ops/zeros.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/modules/lr_schedulers/lr_scheduler.h>
#include <levin/modules/lr_schedulers/registry.h>
#include <levin/modules/optim/optimizers/sgd.h>
#include <levin/modules/optim/registry.h>
#include <levin/program/cli/command_line.h>
#include <levin/program/commands/commands.h>
#include <levin/program/commands/run_module.h>
#include <levin/program/config/run_options.h>
#include <levin/program/config/without_effect.h>
#include <levin/trainer/options/optimizer_check.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

namespace levin::cli {
namespace {

/// Returns the class that an option of the model names; unset if it names none of this kind.
template <class Kind>
ClassChoice<Kind> chosen_by(const Json& model, const char* option, const std::string& path) {
  ClassChoice<Kind> choice;
  const auto chosen = model.find(option);
  if (chosen == model.end() || !chosen->is_object()) return choice;
  const std::string name = class_name_of(*chosen);
  const auto& known = Kind::registry().classes();
  if (std::ranges::find(known, name, &ClassInfo::name) != known.end())
    OptionTraits<ClassChoice<Kind>>::type().set(&choice, path, *chosen, {});
  return choice;
}

/// Whether a list has a value for each parameter group, which only the module knows.
bool has_list(const Json& value) {
  return std::any_of(value.begin(), value.end(),
                     [](const Json& one) { return one.is_array() || (one.is_structured() && has_list(one)); });
}

/// Makes the optimizer of the config, for a parameter of its own, and its schedule: they say what does not fit
/// together.
void check_optimizer_and_schedule(const ReadOptions& options) {
  constexpr const char *kOptimizer = "model.optimizer", *kSchedule = "model.lr_scheduler";
  constexpr int64_t kManySteps = 1'000'000'000;  // the data say how many
  const Json model = options_of_model(options);
  const auto optimizer = chosen_by<optim::OptimizerKind>(model, "optimizer", kOptimizer);
  const auto schedule = chosen_by<LRSchedulerKind>(model, "lr_scheduler", kSchedule);
  const auto made = schedule ? schedule.make(kSchedule) : nullptr;
  if (!made && !optimizer) return;
  const std::vector<at::Tensor> parameter = {at::zeros({1}).requires_grad_(true)};
  std::unique_ptr<torch::optim::Optimizer> stepped;
  if (optimizer) {
    stepped = optim::make_optimizer(optimizer, kOptimizer, parameter);
    check_optimizer(*stepped, options.resolved);
  } else {
    stepped = std::make_unique<optim::SGD>(parameter, optim::SGDOptions{.lr = 0.1, .momentum = 0.9});
  }
  if (!made) return;
  const bool ends = options.resolved.epoch_limit() || options.resolved->max_steps >= 0;
  std::unique_ptr<LRScheduler> bound;
  try {
    bound = made->bind(*stepped, {.total_steps = [&] { return ends ? std::optional(kManySteps) : std::nullopt; }});
  } catch (const UsageError&) {
    // The module's code knows the optimizer, and how many groups of parameters lists are for.
    if (!optimizer || has_list(model["lr_scheduler"])) return;
    throw;
  }
  check_interval(*bound, made->config.interval);
}

void print_check(const CommandLine& line, const ReadOptions& options) {
  std::cout << "ok";
  for (size_t i = 0; i < line.files.size(); ++i) std::cout << (i == 0 ? ": " : ", ") << line.files[i];
  std::cout << std::endl;
  for (const std::string& text : options_without_effect(line.config, options)) console::warn(text);
}

int run_check(const NoOptions& /*flags*/, const Words& words) {
  const CommandLine line = read_command_line(schema_of<RunOptions>(), "config check", words);
  const ReadOptions options = read_run_options(line.config);
  require_model(options);
  check_optimizer_and_schedule(options);
  print_check(line, options);
  return 0;
}

}  // namespace

Command config_check_command() {
  return make_command(
      {.name = "config check", .summary = "Print all that is wrong with a config, or ok", .rest = Rest::ConfigFlags},
      run_check);
}

}  // namespace levin::cli
