#pragma once
#include <levin/core/device/accelerator.h>
#include <levin/core/options/auto_int.h>
#include <levin/core/options/batch_limit.h>
#include <levin/core/options/check_interval.h>
#include <levin/core/options/class_choice.h>
#include <levin/core/options/devices.h>
#include <levin/core/options/duration.h>
#include <levin/core/options/fast_dev_run.h>
#include <levin/core/options/option.h>
#include <levin/core/options/registry.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

/// A config like levin's own, with all types of options, but without LibTorch, so that the fuzzers are built from few
/// files.
namespace levin::testing {

struct Toy {};

struct ToyStepOptions {
  double lr = LEVIN_OPTION(lr, 0.1, "Rate", {.exclusive_min = 0});
  std::vector<double> betas = LEVIN_OPTION(betas, {0.9, 0.999}, "Decay", {.min = 0, .exclusive_max = 1});
};

struct ToyOtherOptions {
  AutoInt steps = LEVIN_OPTION(steps, {}, "Steps");
  std::string mode = LEVIN_OPTION(mode, "min", "Mode", {.choices = {"min", "max"}});
};

struct ToyOptimizerKind {
  using Entry = std::function<Toy(const void* options)>;
  static Registry<Entry>& registry() {
    static Registry<Entry> made = [] {
      Registry<Entry> list("optimizer", "optimizers");
      list.add<ToyStepOptions>("Step", "", [](const void*) { return Toy(); });
      list.add<ToyOtherOptions>("Other", "", [](const void*) { return Toy(); });
      return list;
    }();
    return made;
  }
};

struct ToyModelOptions {
  std::string net = LEVIN_OPTION(net, "mlp", "Network");
  ClassChoice<ToyOptimizerKind> optimizer = LEVIN_OPTION(optimizer, {"Step"}, "Optimizer");
  std::optional<std::string> weights = LEVIN_OPTION(weights, {}, "File");
};

struct ToyModelKind {
  using Entry = std::function<Toy(const void* options)>;
  static Registry<Entry>& registry() {
    static Registry<Entry> made = [] {
      Registry<Entry> list("module", "models");
      list.add<ToyModelOptions>("Net", "", [](const void*) { return Toy(); });
      list.add<NoOptions>("Empty", "", [](const void*) { return Toy(); });
      return list;
    }();
    return made;
  }
};

struct ToyTrainerOptions {
  std::optional<int64_t> max_epochs = LEVIN_OPTION(max_epochs, {}, "Epochs", {.min = -1});
  int64_t max_steps = LEVIN_OPTION(max_steps, -1, "Steps", {.min = -1});
  bool barebones = LEVIN_OPTION(barebones, false, "Only train");
  FastDevRun fast_dev_run = LEVIN_OPTION(fast_dev_run, {}, "Quick test");
  Devices devices = LEVIN_OPTION(devices, {}, "Devices");
  Choice<Accelerator> accelerator = LEVIN_OPTION(accelerator, Accelerator::Auto, "Kind of device");
  BatchLimit limit = LEVIN_OPTION(limit, 1.0, "Limit");
  CheckInterval interval = LEVIN_OPTION(interval, 1.0, "Interval");
  std::optional<Duration> max_time = LEVIN_OPTION(max_time, {}, "Time");
  std::vector<ClassChoice<ToyOptimizerKind>> callbacks = LEVIN_OPTION(callbacks, {}, "A list of parts");
};

struct ToyConfig {
  std::optional<int64_t> seed = LEVIN_OPTION(seed, {}, "Seed", {.min = 0});
  std::optional<std::string> name = LEVIN_OPTION(name, {}, "Name");
  ToyTrainerOptions trainer = LEVIN_OPTION(trainer, {}, "Trainer");
  ClassChoice<ToyModelKind> model = LEVIN_OPTION(model, {}, "Model");
  ClassChoice<ToyModelKind> data = LEVIN_OPTION(data, {}, "Data");
};

}  // namespace levin::testing
