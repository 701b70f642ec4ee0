// A plugin with a callback, a module, a data module and a logger. If it is loaded, it creates the file that
// LEVIN_TEST_PLUGIN_TRACE names.
#include <levin/callbacks/registry.h>
#include <levin/core/system/console.h>
#include <levin/data/data_loader.h>
#include <levin/data/registry.h>
#include <levin/modules/optim/optimizers/sgd.h>
#include <levin/modules/registry.h>
#include <levin/program/cli/plugin.h>
#include <levin/trainer/loggers/registry.h>

#include <torch/nn/modules/linear.h>
#include <torch/types.h>

#include <cstdlib>
#include <fstream>

LEVIN_PLUGIN();

namespace plugin {
namespace {

const bool loaded = [] {
  if (const char* trace = std::getenv("LEVIN_TEST_PLUGIN_TRACE")) std::ofstream(trace) << "loaded";
  return true;
}();

}  // namespace

struct GreetingOptions {
  std::string greeting = LEVIN_OPTION(greeting, "hello", "Text to print");
};

struct Greeting : levin::Callback {
  using Options = GreetingOptions;
  explicit Greeting(GreetingOptions options_) : options(std::move(options_)) {}
  void on_fit_end(levin::Run& run) override {
    levin::console::info(options.greeting + " after " + std::to_string(run.state().global_step) + " steps");
  }
  GreetingOptions options;
};

struct Softmax : levin::LightningModule {
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    const torch::Tensor loss = torch::nll_loss(linear(batch.input().flatten(1)).log_softmax(1), batch.target());
    log("train_loss", loss);
    return loss;
  }
  levin::OptimizerConfig configure_optimizers() override { return levin::optim::SGD(parameters(), {.lr = 0.1}); }
  torch::nn::Linear linear = register_module("linear", torch::nn::Linear(28 * 28, 10));
};

struct NoiseOptions {
  int64_t samples = LEVIN_OPTION(samples, 32, "Images", {.min = 1});
};

/// Images of noise, with classes.
struct Noise : levin::data::DataModule {
  using Options = NoiseOptions;
  explicit Noise(NoiseOptions options_) : options(options_) {}
  levin::data::Loaders train_dataloader() override {
    const levin::data::TensorDataset images(torch::rand({options.samples, 1, 28, 28}),
                                            torch::randint(10, {options.samples}));
    return levin::data::DataLoader(images, {.batch_size = 8});
  }
  NoiseOptions options;
};

struct StepsLoggerOptions {
  std::string file = LEVIN_OPTION(file, "steps.txt", "File in the run's folder");
};

/// Writes the steps of its rows, one a line.
struct StepsLogger : levin::Logger {
  using Options = StepsLoggerOptions;
  StepsLogger(const std::filesystem::path& folder, const StepsLoggerOptions& options) : out(folder / options.file) {}
  std::string name() const override { return "StepsLogger"; }
  void log_metrics(const levin::Metrics&, const levin::LogRow& where) override { out << where.step << std::endl; }
  std::ofstream out;
};

}  // namespace plugin

LEVIN_REGISTER_CALLBACK(plugin::Greeting);
LEVIN_REGISTER_MODULE(plugin::Softmax);
LEVIN_REGISTER_DATA_MODULE(plugin::Noise);
LEVIN_REGISTER_LOGGER(plugin::StepsLogger);
