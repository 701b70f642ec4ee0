// Gradient clipping, and the hooks that see its result.
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/small_modules.h"

namespace {

using levin::GradientClipAlgorithm;

/// Records the norm of its gradients at the end of each batch.
struct Measuring : ToyModule {
  Measuring() {
    optimizers_of = [](ToyModule& module) {
      return levin::OptimizerConfig(levin::optim::SGD(module.parameters(), {.lr = 0.1}));
    };
  }
  void on_train_batch_start(levin::Run&) override { before = copies(parameters()); }
  void on_train_batch_end(levin::Run&) override {
    std::vector<torch::Tensor> of_gradients, of_steps;
    const auto now = parameters();
    for (size_t i = 0; i < now.size(); ++i) {
      of_gradients.push_back(now[i].grad().norm());
      of_steps.push_back((now[i].detach() - before[i]).norm());
    }
    norms.push_back(torch::stack(of_gradients).norm().item<double>());
    steps.push_back(torch::stack(of_steps).norm().item<double>());
  }
  std::vector<torch::Tensor> before = {};
  std::vector<double> norms = {}, steps = {};
};

template <class Module>
void fit_few(Module& module, std::optional<double> clip_val = {}) {
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 1;
  options.gradient_clip_val = clip_val;
  torch::manual_seed(1);
  levin::Trainer(options).fit(module, ToyData(24).loader(8));
}

}  // namespace

TEST_CASE("hooks after a step see clipped gradients, with levin's optimizers and LibTorch's") {
  Measuring ours, libtorchs;
  libtorchs.optimizers_of = [](ToyModule& module) {
    return levin::OptimizerConfig(torch::optim::SGD(module.parameters(), torch::optim::SGDOptions(0.1)));
  };
  for (Measuring* module : {&ours, &libtorchs}) {
    fit_few(*module, 0.01);
    REQUIRE(module->norms.size() == 3);
    for (const double norm : module->norms) CHECK(std::abs(norm - 0.01) < 1e-5);
    for (const double step : module->steps) CHECK(std::abs(step - 0.001) < 1e-5);
  }
}

TEST_CASE("a second clip works on the gradients that the first has left") {
  struct Twice : Measuring {
    void configure_gradient_clipping(levin::LightningOptimizer& optimizer, std::optional<double>,
                                     GradientClipAlgorithm) override {
      clip(optimizer);
    }
    std::function<void(levin::LightningOptimizer&)> clip = {};
  };
  SECTION("the tighter of two norms holds, whichever comes first") {
    for (const bool tighter_first : {false, true}) {
      Twice module;
      module.clip = [&](levin::LightningOptimizer& optimizer) {
        optimizer.clip_gradients(tighter_first ? 0.01 : 0.02);
        optimizer.clip_gradients(tighter_first ? 0.02 : 0.01);
      };
      fit_few(module);
      for (const double step : module.steps) CHECK(std::abs(step - 0.001) < 1e-5);
    }
  }
  SECTION("a clip by value after one by norm finds the gradients that the norm has left") {
    Twice module;
    module.clip = [](levin::LightningOptimizer& optimizer) {
      optimizer.clip_gradients(0.01);
      optimizer.clip_gradients(0.01, GradientClipAlgorithm::Value);  // no element is larger any more
    };
    fit_few(module);
    for (const double step : module.steps) CHECK(std::abs(step - 0.001) < 1e-5);
  }
}

TEST_CASE("a clip value of 0 or below does not clip") {
  const auto steps = [](std::optional<double> clip_val) {
    torch::manual_seed(1);
    Measuring module;
    fit_few(module, clip_val);
    return module.steps;
  };
  const std::vector<double> unclipped = steps({});
  REQUIRE(unclipped.front() > 0);
  CHECK(steps(0.0) == unclipped);
  CHECK(steps(-1.0) == unclipped);
  SECTION("a module that asks for such a clip itself gets none either") {
    struct Asking : Measuring {
      Asking() { automatic_optimization = false; }
      levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
        optimizer().zero_grad();
        manual_backward(loss_of(batch));
        optimizer().clip_gradients(0);
        optimizer().clip_gradients(0, GradientClipAlgorithm::Value);
        optimizer().step();
        return {};
      }
    };
    torch::manual_seed(1);
    Asking module;
    fit_few(module, 0.0);
    CHECK(module.steps == unclipped);
  }
}
