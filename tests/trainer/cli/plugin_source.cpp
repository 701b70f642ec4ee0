// A plugin with a callback and a module. If it is loaded, it creates the file that
// LEVIN_TEST_PLUGIN_TRACE names.
#include <levin/callbacks/registry.h>
#include <levin/modules/optim/optimizers/sgd.h>
#include <levin/modules/registry.h>
#include <levin/trainer/cli/plugin.h>
#include <levin/trainer/core/system/console.h>

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
    return torch::nll_loss(linear(batch.input().flatten(1)).log_softmax(1), batch.target());
  }
  levin::OptimizerConfig configure_optimizers() override { return levin::optim::SGD(parameters(), {.lr = 0.1}); }
  torch::nn::Linear linear = register_module("linear", torch::nn::Linear(28 * 28, 10));
};

}  // namespace plugin

LEVIN_REGISTER_CALLBACK(plugin::Greeting);
LEVIN_REGISTER_MODULE(plugin::Softmax);
