// The gradient of an accumulation window is that of the weighted mean over all its samples.
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/small_modules.h"

namespace {

/// One SGD step of rate 1 in float64 moves the parameters by the gradient; returns the gradient of each parameter.
template <class Module>
std::vector<torch::Tensor> gradient_of_fit(Module& module, const levin::data::Loaders& loader, int64_t accumulate,
                                           int64_t expected_steps = 1) {
  module.to(torch::kDouble);
  const auto before = copies(module.parameters());
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 1;
  options.accumulate_grad_batches = accumulate;
  module.optimizers_of = [](ToyModule& m) {
    return levin::OptimizerConfig(torch::optim::SGD(m.parameters(), torch::optim::SGDOptions(1.0)));
  };
  const auto result = levin::Trainer(options).fit(module, loader);
  CHECK(result.global_step == expected_steps);
  std::vector<torch::Tensor> gradient;
  const auto after = copies(module.parameters());
  for (size_t i = 0; i < before.size(); ++i) gradient.push_back(before[i] - after[i]);
  return gradient;
}

std::vector<torch::Tensor> gradient_of(ToyModule& module, const torch::Tensor& loss) {
  return torch::autograd::grad({loss}, module.parameters());
}

}  // namespace

TEST_CASE("short micro-batches and short windows are exact") {
  const ToyData data(11, torch::kDouble);
  torch::manual_seed(3);
  ToyModule module;
  module.to(torch::kDouble);
  const auto expected = gradient_of(module, torch::mse_loss(module.net->forward(data.input), data.target));
  // 11 samples in batches of 4: 4 + 4 + 3. A window of 3, and one of 5 that stays short.
  for (const int64_t k : {3, 5}) {
    torch::manual_seed(3);
    ToyModule fitted;
    CHECK(largest_difference(gradient_of_fit(fitted, data.loader(4), k), expected) < 1e-12);
  }
}

TEST_CASE("a step may return its own weight") {
  struct Weighted : ToyModule {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
      const double weight = static_cast<double>(batch_idx + 1);
      if (tensor_weight) return {loss_of(batch), torch::tensor(weight)};
      return {loss_of(batch), batch_idx + 1};
    }
    bool tensor_weight = false;
  };
  const ToyData data(12, torch::kDouble);
  for (const bool tensor_weight : {false, true}) {
    torch::manual_seed(3);
    Weighted module;
    module.tensor_weight = tensor_weight;
    module.to(torch::kDouble);
    torch::Tensor loss = torch::zeros({}, torch::kDouble);
    for (int64_t i = 0; i < 3; ++i)
      loss = loss +
             static_cast<double>(i + 1) / 6.0 *
                 torch::mse_loss(module.net->forward(data.input.narrow(0, 4 * i, 4)), data.target.narrow(0, 4 * i, 4));
    const auto expected = gradient_of(module, loss);
    CHECK(largest_difference(gradient_of_fit(module, data.loader(4), 3), expected) < 1e-12);
  }
}

TEST_CASE("batches without a loss are skipped") {
  struct Skipping : ToyModule {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
      if (skip(batch_idx)) return {};
      return loss_of(batch);
    }
    std::function<bool(int64_t)> skip;
  };
  const ToyData data(12, torch::kDouble);

  SECTION("within a window the others count") {
    torch::manual_seed(3);
    Skipping module;
    module.skip = [](int64_t batch_idx) { return batch_idx == 0; };
    module.to(torch::kDouble);
    const auto expected = gradient_of(
        module, torch::mse_loss(module.net->forward(data.input.narrow(0, 4, 8)), data.target.narrow(0, 4, 8)));
    CHECK(largest_difference(gradient_of_fit(module, data.loader(4), 3), expected) < 1e-12);
  }
  SECTION("a window without any loss steps neither optimizer nor scheduler") {
    Skipping module;
    module.skip = [](int64_t) { return true; };
    module.to(torch::kDouble);
    const auto before = copies(module.parameters());
    module.optimizers_of = [](ToyModule& m) {
      return levin::OptimizerConfig(torch::optim::AdamW(m.parameters(), torch::optim::AdamWOptions(0.1)),
                                    levin::StepLR({.step_size = 1}, {.interval = "step"}));
    };
    struct Watch : levin::Callback {
      void on_train_end(levin::Run& run) override { rate = run.lr_schedulers().at(0)->last_lr().at(0); }
      double rate = 0;
    };
    const auto watch = std::make_shared<Watch>();
    const TemporaryFolder folder;
    levin::TrainerOptions options = quiet(folder);
    options.max_epochs = 1;
    options.callbacks = {watch};
    CHECK(levin::Trainer(options).fit(module, data.loader(4)).global_step == 0);
    CHECK(bit_equal(before, copies(module.parameters())));
    CHECK(watch->rate == 0.1);
  }
  SECTION("a NaN of weight zero changes nothing") {
    struct Nan : ToyModule {
      levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
        auto loss = loss_of(batch);
        return batch_idx == 0 ? levin::StepOutput(loss * std::nan(""), 0) : levin::StepOutput(loss);
      }
    };
    Nan module;
    const auto gradient = gradient_of_fit(module, data.loader(4), 3);
    for (const auto& tensor : gradient) CHECK(tensor.isfinite().all().item<bool>());
    // The batch does not end the run either.
    const TemporaryFolder folder;
    levin::TrainerOptions options = quiet(folder);
    options.max_epochs = 1;
    options.callbacks = {levin::TerminateOnNaN()};
    CHECK(levin::Trainer(options).fit(module, data.loader(4)).status == "completed");
  }
  SECTION("a negative weight is an error") {
    struct Negative : ToyModule {
      levin::StepOutput training_step(const levin::Batch& batch, int64_t) override { return {loss_of(batch), -1}; }
    };
    Negative module;
    CHECK(contains(error_text<levin::UsageError>([&] { gradient_of_fit(module, data.loader(4), 1); }),
                   "expected a weight of at least 0, got -1"));
  }
}

TEST_CASE("the number of micro-batches can change between windows") {
  struct Change : levin::Callback {
    void on_train_batch_end(levin::Run& run) override {
      if (run.batch_idx() == 1) run.set_accumulate_grad_batches(3);
      steps.push_back(run.state().global_step);
    }
    std::vector<int64_t> steps;
  };
  const auto change = std::make_shared<Change>();
  const ToyData data(8);
  ToyModule module;
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 1;
  options.accumulate_grad_batches = 2;
  options.callbacks = {change};
  levin::Trainer(options).fit(module, data.loader(1));
  const std::vector<int64_t> expected = {0, 1, 1, 1, 2, 2, 2, 3};
  CHECK(change->steps == expected);
}
