#include <levin/levin.h>

#include <cmath>
#include <numbers>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/small_modules.h"

using levin::UsageError;

namespace {

constexpr int64_t kWarmUp = 40, kTotal = 150;
constexpr double kRate = 0.1;

/// A module that weighs each batch by its samples times 3, as if they were tokens.
struct TokenModule : ToyModule {
  explicit TokenModule(int64_t tokens = 3) : tokens_of_sample(tokens) {
    optimizers_of = [](ToyModule& module) {
      return levin::OptimizerConfig(
          torch::optim::SGD(module.parameters(), torch::optim::SGDOptions(kRate)),
          levin::WarmupCosine({.warmup_steps = kWarmUp, .total_steps = kTotal}, {.interval = levin::Interval::Token}));
    };
  }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    const at::Tensor loss = loss_of(batch);
    if (tokens_of_sample == 0) return loss;
    return {loss, static_cast<double>(batch.size() * tokens_of_sample)};
  }
  int64_t tokens_of_sample;
};

/// Notes the rate after each optimizer step, and the tokens that were counted.
struct Rates : levin::Callback {
  void on_train_batch_end(levin::Run& run) override {
    if (run.state().global_step == steps) return;
    steps = run.state().global_step;
    rates.push_back(run.optimizers()[0]->param_groups()[0].options().get_lr());
    tokens.push_back(run.state().tokens_seen);
  }
  int64_t steps = -1;  ///< of the run, when it was last seen
  void on_train_start(levin::Run& run) override { steps = run.state().global_step; }
  std::vector<double> rates = {};
  std::vector<int64_t> tokens = {};
};

double rate_at(int64_t tokens) {
  if (tokens < kWarmUp) return kRate * (0.01 + 0.99 * static_cast<double>(tokens) / kWarmUp);
  const double progress = static_cast<double>(std::min(tokens, kTotal) - kWarmUp) / (kTotal - kWarmUp);
  return kRate * (1 + std::cos(std::numbers::pi * progress)) / 2;
}

struct Ran {
  std::shared_ptr<Rates> rates = std::make_shared<Rates>();
  std::vector<at::Tensor> weights = {};
  std::string last = {};  ///< the run's checkpoint
};

/// Trains on 22 samples an epoch, in batches of 4 samples, of which the last has 2.
Ran train(const TemporaryFolder& folder, int64_t epochs, int64_t accumulate, const std::string& checkpoint = "",
          TokenModule* given = nullptr) {
  torch::manual_seed(3);
  TokenModule made;
  TokenModule& module = given != nullptr ? *given : made;
  Ran ran;
  auto options = quiet(folder);
  options.max_epochs = epochs;
  options.accumulate_grad_batches = accumulate;
  options.callbacks = {ran.rates};
  levin::Trainer trainer(options);
  const auto loader = ToyData(22).loader(4);
  ran.last = (trainer.fit(module, loader, {}, checkpoint).folder / "checkpoints" / "last.ckpt").string();
  ran.weights = copies(module.parameters());
  return ran;
}

}  // namespace

TEST_CASE("a schedule by tokens has the rate of the tokens of the finished steps, also over several batches") {
  const int64_t accumulate = GENERATE(1, 4);
  const TemporaryFolder folder;
  const Ran ran = train(folder, 3, accumulate);
  const std::vector<int64_t> of_epoch =
      accumulate == 1 ? std::vector<int64_t>{12, 24, 36, 48, 60, 66} : std::vector<int64_t>{48, 66};
  REQUIRE(ran.rates->rates.size() == 3 * of_epoch.size());
  for (size_t i = 0; i < ran.rates->rates.size(); ++i) {
    const int64_t tokens = of_epoch[i % of_epoch.size()] + 66 * static_cast<int64_t>(i / of_epoch.size());
    CHECK(ran.rates->tokens[i] == tokens);
    CHECK(ran.rates->rates[i] == Approx(rate_at(tokens)).epsilon(1e-12).margin(1e-15));
  }
}

TEST_CASE("a schedule by tokens resumes to the bit") {
  const TemporaryFolder whole, parts;
  const Ran once = train(whole, 3, 4);
  const Ran first = train(parts, 2, 4), resumed = train(parts, 3, 4, first.last);
  CHECK(bit_equal(resumed.weights, once.weights));
  CHECK(resumed.rates->rates == std::vector<double>(once.rates->rates.begin() + 4, once.rates->rates.end()));
}

TEST_CASE("schedules by tokens that cannot be are refused") {
  const TemporaryFolder folder;
  TokenModule without(0);
  CHECK(contains(error_text<UsageError>([&] { train(folder, 1, 1, "", &without); }),
                 "token counts the weights that training_step returns"));
  const auto says = [&](auto scheduler) {
    TokenModule module;
    module.optimizers_of = [&](ToyModule& toy) {
      return levin::OptimizerConfig(torch::optim::SGD(toy.parameters(), 0.1), scheduler);
    };
    return error_text<UsageError>([&] { train(folder, 1, 1, "", &module); });
  };
  const levin::LRSchedulerConfig by_token = {.interval = levin::Interval::Token};
  CHECK(contains(says(levin::StepLR({.step_size = 2}, by_token)), "this scheduler cannot count tokens"));
  CHECK(
      contains(says(levin::WarmupCosine({.warmup_steps = 2}, by_token)), "set it to the number of tokens of the run"));
}
