// Parameters that join an optimizer during a fit are trained like those that it had from the start.
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/small_modules.h"

namespace {

constexpr int64_t kEpochs = 4, kSamples = 40, kBatch = 8;

/// The head is trained from the start, the body from the third epoch on.
struct Unfreezing : ToyModule {
  Unfreezing() {
    for (auto& parameter : net[0]->parameters()) parameter.requires_grad_(false);
    optimizers_of = [](ToyModule& module) { return levin::OptimizerConfig(head_optimizer(module)); };
  }
  static levin::optim::SGD head_optimizer(ToyModule& module) {
    return levin::optim::SGD(module.net[3]->parameters(), {.lr = 0.05, .momentum = 0.9});
  }
  void unfreeze(torch::optim::Optimizer& optimizer) {
    for (auto& parameter : net[0]->parameters()) parameter.requires_grad_(true);
    levin::optim::add_param_group(
        optimizer,
        levin::optim::param_group(net[0]->parameters(), levin::optim::SGDOptions{.lr = 0.02, .momentum = 0.9}));
  }
  void on_train_epoch_start(levin::Run& run) override {
    if (current_epoch() == 2) unfreeze(*run.optimizers()[0]);
  }
  /// Checks that the gradients of the last window are gone before the first backward of the next.
  void on_before_backward(levin::Run& run, torch::Tensor&) override {
    if (run.state().window.position != 0) return;
    for (const auto& parameter : parameters()) left_over += parameter.grad().defined();
  }
  int64_t left_over = 0;
};

struct UnfreezingByHand : Unfreezing {
  UnfreezingByHand() { automatic_optimization = false; }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    const auto loss = loss_of(batch);
    optimizer().zero_grad();
    manual_backward(loss);
    if (clip) optimizer().clip_gradients(*clip);
    optimizer().step();
    return {};
  }
  std::optional<double> clip = {};
};

using AtEpoch = std::function<void(ToyModule&, torch::optim::Optimizer&, int64_t epoch)>;

/// The training loop of a program without a trainer.
void train_by_hand(ToyModule& module, torch::optim::Optimizer& optimizer, const AtEpoch& at_epoch, int64_t accumulate,
                   std::optional<double> clip) {
  const ToyData data(kSamples);
  int64_t batch = 0;
  for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    at_epoch(module, optimizer, epoch);
    for (int64_t start = 0; start < kSamples; start += kBatch, ++batch) {
      if (start / kBatch % accumulate == 0) optimizer.zero_grad();
      const auto index = torch::arange(start, start + kBatch);
      auto loss =
          torch::mse_loss(module.net->forward(data.input.index_select(0, index)), data.target.index_select(0, index));
      if (accumulate > 1) loss = loss / accumulate;
      loss.backward();
      if ((start / kBatch + 1) % accumulate != 0) continue;
      std::vector<torch::Tensor> parameters;
      for (const auto& group : optimizer.param_groups())
        parameters.insert(parameters.end(), group.params().begin(), group.params().end());
      if (clip) torch::nn::utils::clip_grad_norm_(parameters, *clip);
      optimizer.step();
    }
  }
}

std::vector<torch::Tensor> unfrozen_by_hand(int64_t accumulate, std::optional<double> clip) {
  torch::manual_seed(1);
  Unfreezing module;
  levin::optim::SGD optimizer = Unfreezing::head_optimizer(module);
  const auto at_epoch = [](ToyModule& toy, torch::optim::Optimizer& used, int64_t epoch) {
    if (epoch == 2) static_cast<Unfreezing&>(toy).unfreeze(used);
  };
  train_by_hand(module, optimizer, at_epoch, accumulate, clip);
  return copies(module.parameters());
}

template <class Module>
std::vector<torch::Tensor> fitted(Module& module, const std::function<void(levin::TrainerOptions&)>& change = {}) {
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = kEpochs;
  options.enable_checkpointing = false;
  if (change) change(options);
  levin::Trainer(options).fit(module, ToyData(kSamples).loader(kBatch));
  return copies(module.parameters());
}

}  // namespace

TEST_CASE("layers that are unfrozen by a new group train as in the loop written by hand") {
  SECTION("as it is") {
    torch::manual_seed(1);
    Unfreezing module;
    CHECK(bit_equal(fitted(module), unfrozen_by_hand(1, {})));
    CHECK(module.left_over == 0);
  }
  SECTION("with accumulation and clipping") {
    torch::manual_seed(1);
    Unfreezing module;
    const auto fit = fitted(module, [](auto& o) { o.accumulate_grad_batches = 5, o.gradient_clip_val = 0.1; });
    CHECK(bit_equal(fit, unfrozen_by_hand(5, 0.1)));
  }
  SECTION("under manual optimization") {
    torch::manual_seed(1);
    UnfreezingByHand module;
    module.clip = 0.1;
    CHECK(bit_equal(fitted(module), unfrozen_by_hand(1, 0.1)));
  }
  SECTION("with scaled losses") {
    torch::manual_seed(1);
    Unfreezing module;
    const auto fit = fitted(module, [](auto& o) { o.precision = 16; });
    CHECK(largest_difference(fit, unfrozen_by_hand(1, {})) < 2e-2);
    CHECK(module.left_over == 0);
  }
  SECTION("on replicas") {
    torch::manual_seed(1);
    const auto module = levin::make_module<Unfreezing>();
    const auto fit = fitted(*module, [](auto& o) { o.accelerator = "cpu", o.devices = 2, o.strategy = "dp"; });
    CHECK(largest_difference(fit, unfrozen_by_hand(1, {})) < 1e-5);
    CHECK(module->left_over == 0);
  }
  SECTION("with batches that may be split") {
    torch::manual_seed(1);
    Unfreezing module;
    CHECK(largest_difference(fitted(module, [](auto& o) { o.auto_microbatch = true; }), unfrozen_by_hand(1, {})) <
          1e-6);
  }
}

TEST_CASE("a tensor that replaces another in a group trains as in the loop written by hand") {
  const auto replace = [](ToyModule& module, torch::optim::Optimizer& optimizer) {
    auto* const layer = module.net[3]->as<torch::nn::Linear>();
    torch::Tensor& held = optimizer.param_groups()[0].params().at(2);
    REQUIRE(held.is_same(layer->weight));
    held = layer->weight = torch::full({1, 8}, 0.1).requires_grad_();
  };
  struct Replacing : ToyModule {
    void on_train_epoch_start(levin::Run& run) override {
      if (current_epoch() == 1) at_second_epoch(*this, *run.optimizers()[0]);
    }
    std::function<void(ToyModule&, torch::optim::Optimizer&)> at_second_epoch = {};
  };
  torch::manual_seed(1);
  Replacing fit;
  fit.at_second_epoch = replace;
  const auto fitted_rest = fitted(fit);
  torch::manual_seed(1);
  ToyModule hand;
  torch::optim::SGD optimizer(hand.parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  train_by_hand(hand, optimizer,
                [&](ToyModule& toy, torch::optim::Optimizer& used, int64_t epoch) {
                  if (epoch == 1) replace(toy, used);
                },
                1, {});
  CHECK(bit_equal(fitted_rest, copies(hand.parameters())));
  CHECK(torch::equal(fit.net[3]->as<torch::nn::Linear>()->weight, hand.net[3]->as<torch::nn::Linear>()->weight));
}

TEST_CASE("a parameter whose rows no longer fit its optimizer's state is named") {
  struct Growing : ToyModule {
    void on_train_epoch_start(levin::Run& run) override {
      if (current_epoch() != 1) return;
      auto* const first = net[0]->as<torch::nn::Linear>();
      auto* const last = net[3]->as<torch::nn::Linear>();
      first->weight.set_data(torch::randn({12, 4}));
      first->bias.set_data(torch::zeros({12}));
      last->weight.set_data(torch::randn({1, 12}));
      if (!drops_state) return;
      for (const auto& parameter : {first->weight, first->bias, last->weight})
        run.optimizers()[0]->state().erase(parameter.unsafeGetTensorImpl());
    }
    bool drops_state = false;
  };
  const std::vector<std::function<levin::OptimizerConfig(ToyModule&)>> optimizers = {
      [](ToyModule& module) { return levin::optim::Adam(module.parameters(), {.lr = 0.01}); },
      [](ToyModule& module) {
        return levin::OptimizerConfig(torch::optim::Adam(module.parameters(), torch::optim::AdamOptions(0.01)));
      }};
  for (const auto& optimizer : optimizers) {
    Growing module;
    module.optimizers_of = optimizer;
    const std::string text = error_text<levin::UsageError>([&] { fitted(module); });
    INFO(text);
    CHECK(contains(text,
                   "net.0.weight has the shape [12, 4], and the optimizer's state of it, exp_avg, the shape [8, 4]"));
    CHECK(contains(text, "optimizer.state().erase(parameter.unsafeGetTensorImpl())"));
    // That way works.
    Growing dropping;
    dropping.optimizers_of = optimizer;
    dropping.drops_state = true;
    fitted(dropping);
    CHECK(dropping.net[0]->as<torch::nn::Linear>()->weight.size(0) == 12);
  }
}

TEST_CASE("the rate of a group that is added later is changed by the scheduler with the others, or left") {
  const auto rate_at_end = [](const auto& scheduler) {
    struct Scheduled : Unfreezing {
      void on_train_end(levin::Run& run) override {
        rate = run.optimizers()[0]->param_groups().at(1).options().get_lr();
      }
      double rate = 0;
    };
    Scheduled module;
    module.optimizers_of = [&](ToyModule& toy) -> levin::OptimizerConfig {
      return {Unfreezing::head_optimizer(toy), scheduler};
    };
    fitted(module);
    return module.rate;
  };
  // The group joins with 0.02 before the third of four epochs; two steps by epoch follow.
  CHECK(std::abs(rate_at_end(levin::StepLR({.step_size = 1, .gamma = 0.5})) - 0.005) < 1e-12);
  CHECK(rate_at_end(levin::LambdaLR({.lr_lambda = [](int64_t epoch) { return 1.0 / (1.0 + epoch); }})) == 0.02);
  CHECK(rate_at_end(levin::OneCycleLR({.max_lr = 0.1, .total_steps = 20}, {.interval = "step"})) == 0.02);
  CHECK(rate_at_end(levin::MultiplicativeLR({.lr_lambda = [](int64_t) { return 0.5; }})) == 0.02);
  const double cosine = rate_at_end(levin::CosineAnnealingLR({.T_max = 3}));
  CHECK((cosine >= 0 && cosine <= 0.02));
}
