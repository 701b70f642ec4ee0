// 16-mixed: losses are scaled, gradients unscaled before anything reads them, and steps that are not finite skipped.
#include <levin/core/state/state_file.h>

#include <cmath>
#include <limits>
#include <set>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/small_modules.h"

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Puts an infinity into the gradients of the micro-batches with these numbers.
struct Planting : ToyModule {
  void on_after_backward(levin::Run&) override {
    if (planted.count(backwards++) > 0) net->parameters()[1].mutable_grad()[0] = kInfinity;
  }
  std::set<int64_t> planted = {};
  int64_t backwards = 0;
};

levin::TrainerOptions mixed(const TemporaryFolder& folder) {
  levin::TrainerOptions options = quiet(folder);
  options.precision = 16;
  options.max_epochs = 3;
  options.enable_checkpointing = false;
  return options;
}

levin::State scaler_of(levin::Trainer& trainer, const TemporaryFolder& folder) {
  trainer.save_checkpoint(folder / "scaler.ckpt");
  return levin::load_state(folder / "scaler.ckpt").at("MixedPrecision");
}

at::Tensor rows(const at::Tensor& tensor, int64_t batch, int64_t batch_size) {
  return tensor.index_select(0, torch::arange(batch * batch_size, (batch + 1) * batch_size));
}

}  // namespace

TEST_CASE("16-mixed is bit for bit the loop written by hand with Autocast and GradScaler") {
  const std::set<int64_t> planted = {0, 9, 10, 17};  // in windows 0, 4, 5, 8
  const ToyData data(32);                            // 8 batches, 4 windows an epoch
  torch::manual_seed(1);
  ToyModule by_hand;
  torch::manual_seed(1);
  Planting by_fit;

  torch::optim::SGD optimizer(by_hand.parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  levin::optim::GradScaler scaler;
  int64_t updates = 0;
  for (int64_t i = 0; i < 24; ++i) {
    if (i % 2 == 0) optimizer.zero_grad();
    at::Tensor loss;
    {
      const levin::Autocast autocast(at::kCPU, at::kHalf, /*enabled=*/true, /*cache_enabled=*/false);
      loss = torch::mse_loss(by_hand.net->forward(rows(data.input, i % 8, 4)), rows(data.target, i % 8, 4));
    }
    scaler.scale(loss / 2).backward();
    if (planted.count(i) > 0) by_hand.net->parameters()[1].mutable_grad()[0] = kInfinity;
    if (i % 2 == 0) continue;
    scaler.unscale_(optimizer);
    torch::nn::utils::clip_grad_norm_(by_hand.parameters(), 0.05);
    if (scaler.step(optimizer)) {
      ++updates;
      optimizer.param_groups()[0].options().set_lr(0.05 * std::pow(0.5, updates / 3));
    }
    scaler.update();
  }
  REQUIRE(updates == 8);

  by_fit.planted = planted;
  by_fit.optimizers_of = [](ToyModule& module) {
    return levin::OptimizerConfig(torch::optim::SGD(module.parameters(), torch::optim::SGDOptions(0.05).momentum(0.9)),
                                  levin::StepLR({.step_size = 3, .gamma = 0.5}, {.interval = "step"}));
  };
  const TemporaryFolder folder;
  levin::TrainerOptions options = mixed(folder);
  options.accumulate_grad_batches = 2;
  options.gradient_clip_val = 0.05;
  levin::Trainer trainer(options);
  const levin::RunResult result = trainer.fit(by_fit, data.loader(4));
  CHECK(bit_equal(by_fit.parameters(), by_hand.parameters()));
  CHECK(result.global_step == 12);
  const levin::State theirs = scaler.state_dict(), ours = scaler_of(trainer, folder);
  CHECK(ours.at("scale").to_double() == theirs.at("scale").to_double());
  CHECK(ours.at("scale").to_double() == 4096);
  CHECK(ours.at("_growth_tracker").to_int() == theirs.at("_growth_tracker").to_int());
}

TEST_CASE("a skipped step changes nothing but the scale") {
  struct Comparing : Planting {
    void on_train_batch_start(levin::Run& run) override { before = copies(state(run)); }
    void on_train_batch_end(levin::Run& run) override {
      changed.push_back(!bit_equal(before, state(run)));
      rates.push_back(run.optimizers()[0]->param_groups()[0].options().get_lr());
      CHECK(run.state().global_step == static_cast<int64_t>(changed.size()));
      CHECK(run.state().skipped_steps == std::count(changed.begin(), changed.end(), false));
      CHECK_FALSE(run.non_finite_step().has_value());
    }
    /// Weights and momentum; there is no momentum before the first step.
    std::vector<at::Tensor> state(levin::Run& run) {
      std::vector<at::Tensor> all = parameters();
      const levin::State of_optimizer = levin::optim::optimizer_state_dict(*run.optimizers()[0]).at("state");
      for (const auto& [key, value] : of_optimizer.to_dict()) all.push_back(value.at("momentum_buffer").to_tensor());
      return all;
    }
    std::vector<at::Tensor> before = {};
    std::vector<bool> changed = {};
    std::vector<double> rates = {};
  };
  for (const bool ours : {false, true}) {
    torch::manual_seed(1);
    Comparing module;
    module.planted = {1, 2, 5};
    module.optimizers_of = [&](ToyModule& toy) -> levin::OptimizerConfig {
      const levin::StepLR halving({.step_size = 1, .gamma = 0.5}, {.interval = "step"});
      if (ours) return {levin::optim::SGD(toy.parameters(), {.lr = 0.125, .momentum = 0.9}), halving};
      return {torch::optim::SGD(toy.parameters(), torch::optim::SGDOptions(0.125).momentum(0.9)), halving};
    };
    const TemporaryFolder folder;
    levin::TrainerOptions options = mixed(folder);
    options.max_epochs = 1;
    options.gradient_clip_val = 0.5;
    levin::Trainer trainer(options);
    trainer.fit(module, ToyData(28).loader(4));
    CHECK(module.changed == std::vector<bool>{true, false, false, true, true, false, true});
    CHECK(module.rates == std::vector<double>{1.0 / 16, 1.0 / 16, 1.0 / 16, 1.0 / 32, 1.0 / 64, 1.0 / 64, 1.0 / 128});
    CHECK(scaler_of(trainer, folder).at("scale").to_double() == 65536 / 8);
  }
}

TEST_CASE("gradients are unscaled when hooks and clipping see them") {
  struct Reading : ToyModule {
    void on_before_optimizer_step(levin::Run&, torch::optim::Optimizer&) override {
      norm = torch::nn::utils::clip_grad_norm_(parameters(), 1e9);
    }
    double norm = 0;
  };
  const ToyData data(4);
  const auto norm_in = [&](const levin::Precision& precision) {
    const TemporaryFolder folder;
    torch::manual_seed(1);
    Reading module;
    levin::TrainerOptions options = mixed(folder);
    options.precision = precision;
    options.max_epochs = 1;
    levin::Trainer(options).fit(module, data.loader(4));
    return module.norm;
  };
  CHECK(norm_in(16) == Approx(norm_in(32)).epsilon(0.01));
}

TEST_CASE("batches without a loss, and optimizer_step that does not step, leave the scale alone") {
  struct Seldom : ToyModule {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
      if (batch_idx == 0) return {};
      return loss_of(batch);
    }
    void optimizer_step(levin::LightningOptimizer& optimizer, const levin::Closure& closure) override {
      closure();
      if (run().batch_idx() != 2) optimizer.step();
    }
  };
  const TemporaryFolder folder;
  torch::manual_seed(1);  // weights whose scaled gradients are finite in half precision
  Seldom module;
  levin::TrainerOptions options = mixed(folder);
  options.max_epochs = 1;
  levin::Trainer trainer(options);
  trainer.fit(module, ToyData(20).loader(4));
  const levin::State scaler = scaler_of(trainer, folder);
  CHECK(scaler.at("scale").to_double() == 65536);
  CHECK(scaler.at("_growth_tracker").to_int() == 4);
}

TEST_CASE("manual optimization scales, unscales before clipping, skips, and updates the scale") {
  struct Manual : ToyModule {
    Manual() : critic(register_module("critic", torch::nn::Linear(4, 1))) { automatic_optimization = false; }
    levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
      auto of_net = optimizer(0), of_critic = optimizer(1);
      of_net.zero_grad();
      of_critic.zero_grad();
      // Both losses before both steps: the scale must be the same for all.
      manual_backward(loss_of(batch));
      manual_backward(torch::mse_loss(critic->forward(batch.input()), batch.target()));
      if (batch_idx == planted) critic->bias.mutable_grad()[0] = kInfinity;
      of_net.clip_gradients(0.1);
      of_critic.step();
      of_net.step();
      return {};
    }
    levin::OptimizerConfig configure_optimizers() override {
      return {levin::OptimizerEntry{torch::optim::SGD(net->parameters(), 0.1)},
              levin::OptimizerEntry{torch::optim::SGD(critic->parameters(), 0.1)}};
    }
    torch::nn::Linear critic;
    int64_t planted = -1;
  };
  const ToyData data(16);
  torch::manual_seed(1);
  Manual by_hand;
  torch::manual_seed(1);
  Manual by_fit;
  torch::optim::SGD of_net(by_hand.net->parameters(), 0.1), of_critic(by_hand.critic->parameters(), 0.1);
  levin::optim::GradScaler scaler;
  for (int64_t i = 0; i < 4; ++i) {
    of_net.zero_grad();
    of_critic.zero_grad();
    const auto input = rows(data.input, i, 4), target = rows(data.target, i, 4);
    {
      const levin::Autocast autocast(at::kCPU, at::kHalf);
      scaler.scale(torch::mse_loss(by_hand.net->forward(input), target)).backward();
      scaler.scale(torch::mse_loss(by_hand.critic->forward(input), target)).backward();
    }
    if (i == 2) by_hand.critic->bias.mutable_grad()[0] = kInfinity;
    scaler.unscale_(of_net);
    torch::nn::utils::clip_grad_norm_(by_hand.net->parameters(), 0.1);
    scaler.step(of_critic);
    scaler.step(of_net);
    scaler.update();
  }
  by_fit.planted = 2;
  const TemporaryFolder folder;
  levin::TrainerOptions options = mixed(folder);
  options.max_epochs = 1;
  levin::Trainer trainer(options);
  const levin::RunResult result = trainer.fit(by_fit, data.loader(4));
  CHECK(bit_equal(by_fit.parameters(), by_hand.parameters()));
  CHECK(result.global_step == 4);
  CHECK(scaler_of(trainer, folder).at("scale").to_double() == scaler.get_scale());
}

TEST_CASE("a run in 16-mixed resumes with its scale, tracker and count of skipped steps") {
  const ToyData data(32);
  const TemporaryFolder folder;
  const auto train = [&](int64_t epochs, const std::string& from, const std::string& to) {
    torch::manual_seed(1);
    Planting module;
    module.planted = from.empty() ? std::set<int64_t>{2, 12} : std::set<int64_t>{4};
    levin::TrainerOptions options = mixed(folder);
    options.max_epochs = epochs;
    levin::Trainer trainer(options);
    trainer.fit(module, data.loader(4), {}, from.empty() ? "" : (folder / from).string());
    trainer.save_checkpoint(folder / to);
    return levin::load_state(folder / to);
  };
  const levin::State unbroken = train(3, "", "unbroken.ckpt");
  train(1, "", "first.ckpt");
  const levin::State resumed = train(3, "first.ckpt", "resumed.ckpt");
  for (const levin::State* state : {&unbroken, &resumed}) {
    CHECK(state->at("MixedPrecision").at("scale").to_double() == 16384);
    CHECK(state->at("MixedPrecision").at("_growth_tracker").to_int() == 11);
    CHECK(state->at("levin").at("trainer").at("skipped_steps").to_int() == 2);
  }
  for (const auto& [key, value] : unbroken.at("state_dict").to_dict())
    CHECK(torch::equal(value.to_tensor(), resumed.at("state_dict").at(key).to_tensor()));
}

TEST_CASE("a step that computes its gradients more than once is refused with 16-mixed") {
  const ToyData data(8);
  const auto error_with = [&](ToyModule& module, const std::string& amp_level = "O1") {
    const TemporaryFolder folder;
    levin::TrainerOptions options = mixed(folder);
    options.amp_level = amp_level;
    return error_text<levin::UsageError>([&] { levin::Trainer(options).fit(module, data.loader(4)); });
  };
  ToyModule by_lbfgs;
  by_lbfgs.optimizers_of = [](ToyModule& module) {
    return levin::OptimizerConfig(levin::optim::LBFGS(module.parameters()));
  };
  CHECK(contains(error_with(by_lbfgs), "LBFGS computes them many times in one; use bf16-mixed or 32-true"));

  struct Twice : ToyModule {
    void optimizer_step(levin::LightningOptimizer& optimizer, const levin::Closure& closure) override {
      closure();
      optimizer.step(closure);
    }
  } twice;
  CHECK(contains(error_with(twice), "the closure ran more than once in a step"));

  ToyModule manual;
  manual.automatic_optimization = false;
  CHECK(contains(error_with(manual, "O2"), "O2 runs automatic optimization only; use O1"));
}
