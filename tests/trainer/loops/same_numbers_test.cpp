// `fit` gives bit for bit what the hand-written LibTorch loop with the same optimizer object gives.
#include "tests/catch.h"
#include "tests/small_modules.h"

namespace {

struct HandLoop {
  int64_t batch_size = 8, epochs = 3, accumulate = 1;
  std::optional<double> clip_norm = {}, clip_value = {};

  void run(ToyModule& module, const ToyData& data, torch::optim::Optimizer& optimizer) const {
    const int64_t samples = data.input.size(0);
    module.train();
    for (int64_t epoch = 0; epoch < epochs; ++epoch) {
      int64_t in_window = 0;
      for (int64_t start = 0; start < samples; start += batch_size, ++in_window) {
        const int64_t end = std::min(samples, start + batch_size);
        if (in_window % accumulate == 0) optimizer.zero_grad();
        // Whole batches by index_select, as levin's loader makes them: a slice may be aligned differently, and MKL then
        // rounds differently.
        const auto index = torch::arange(start, end);
        auto loss =
            torch::mse_loss(module.net->forward(data.input.index_select(0, index)), data.target.index_select(0, index));
        if (accumulate > 1) loss = loss / accumulate;
        loss.backward();
        if ((in_window + 1) % accumulate != 0) continue;
        if (clip_norm) torch::nn::utils::clip_grad_norm_(module.parameters(), *clip_norm);
        if (clip_value) torch::nn::utils::clip_grad_value_(module.parameters(), *clip_value);
        optimizer.step();
      }
    }
  }
};

using MakeOptimizer = std::function<std::shared_ptr<torch::optim::Optimizer>(ToyModule&)>;

/// Trains two modules from one start, by hand and by fit; returns their parameters and buffers.
std::pair<std::vector<torch::Tensor>, std::vector<torch::Tensor>> both(const HandLoop& hand, int64_t samples,
                                                                       double dropout, const MakeOptimizer& make,
                                                                       bool validate = false) {
  const ToyData data(samples);
  torch::manual_seed(1);
  ToyModule by_hand(dropout);
  torch::manual_seed(1);
  ToyModule by_fit(dropout);

  torch::manual_seed(2);
  const auto optimizer = make(by_hand);
  hand.run(by_hand, data, *optimizer);

  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = hand.epochs;
  options.accumulate_grad_batches = hand.accumulate;
  options.gradient_clip_val = hand.clip_norm ? hand.clip_norm : hand.clip_value;
  options.gradient_clip_algorithm = hand.clip_value ? "value" : "norm";
  if (validate) options.num_sanity_val_steps = 2;
  by_fit.optimizers_of = [&](ToyModule& module) { return levin::OptimizerConfig(make(module)); };
  torch::manual_seed(2);
  levin::Trainer(options).fit(by_fit, data.loader(hand.batch_size),
                              validate ? levin::data::Loaders(data.loader(5)) : levin::data::Loaders());
  return {copies(by_hand.parameters()), copies(by_fit.parameters())};
}

std::shared_ptr<torch::optim::Optimizer> sgd(ToyModule& module) {
  return std::make_shared<torch::optim::SGD>(module.parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
}
std::shared_ptr<torch::optim::Optimizer> adam(ToyModule& module) {
  return std::make_shared<torch::optim::Adam>(module.parameters(), torch::optim::AdamOptions(1e-2));
}

}  // namespace

TEST_CASE("fit equals the hand-written loop bit for bit") {
  SECTION("SGD with momentum, a short last batch") {
    const auto [hand, fit] = both({}, 37, 0, sgd);
    CHECK(bit_equal(hand, fit));
  }
  SECTION("Adam, accumulation of whole windows, clipping by norm") {
    const auto [hand, fit] = both({.accumulate = 4, .clip_norm = 0.1}, 64, 0, adam);
    CHECK(bit_equal(hand, fit));
  }
  SECTION("clipping by value") {
    const auto [hand, fit] = both({.clip_value = 0.01}, 40, 0, sgd);
    CHECK(bit_equal(hand, fit));
  }
  SECTION("dropout: the random numbers are the same, also with a sanity check") {
    const auto [hand, fit] = both({}, 40, 0.5, sgd);
    CHECK(bit_equal(hand, fit));
  }
}

TEST_CASE("validation and its sanity check leave training alone") {
  struct Validating : ToyModule {
    using ToyModule::ToyModule;
    void validation_step(const levin::Batch& batch, int64_t) override {
      torch::rand({3});  // draws from the generator
      log("val_loss", loss_of(batch));
    }
  };
  const auto train = [](bool validate) {
    const ToyData data(40);
    torch::manual_seed(1);
    Validating module(0.5);
    const TemporaryFolder folder;
    levin::TrainerOptions options = quiet(folder);
    options.max_epochs = 1;
    options.num_sanity_val_steps = 2;
    torch::manual_seed(2);
    levin::Trainer(options).fit(module, data.loader(8),
                                validate ? levin::data::Loaders(data.loader(5)) : levin::data::Loaders());
    CHECK(module.is_training());
    return copies(module.parameters());
  };
  CHECK(bit_equal(train(false), train(true)));
}
