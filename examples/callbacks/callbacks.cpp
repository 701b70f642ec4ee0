// Callbacks: built-in ones, a user's own callback with state, and one made of functions.
#include <levin/levin.h>

#include <iostream>

namespace F = torch::nn::functional;

/// Keeps the smallest validation loss and its step.
class BestLoss : public levin::Callback {
 public:
  void on_validation_end(levin::Run& run) override {
    const auto loss = run.metric("val_loss");
    if (!loss || run.state().stage == levin::Stage::SanityCheck || *loss >= best) return;
    best = *loss;
    step = run.state().global_step;
  }
  // The state is saved in checkpoints, so that a resumed run continues with it.
  levin::State state_dict() const override { return levin::State::dict({{"best", best}, {"step", step}}); }
  void load_state_dict(const levin::State& state) override {
    best = state.at("best").to_double();
    step = state.at("step").to_int();
  }

  double best = 1e30;
  int64_t step = 0;
};

int main() {
  torch::manual_seed(0);
  const auto x = torch::randn({512, 4});
  const auto y = x.sum(1, /*keepdim=*/true).tanh();
  const auto loader_of = [&](int64_t start, int64_t count, bool shuffle) {
    return levin::data::DataLoader(levin::data::TensorDataset(x.narrow(0, start, count), y.narrow(0, start, count)),
                                   {.batch_size = 32, .shuffle = shuffle});
  };

  // A module from any network and loss, without a class for it.
  const auto module =
      levin::wrap(torch::nn::Sequential(torch::nn::Linear(4, 16), torch::nn::Tanh(), torch::nn::Linear(16, 1)),
                  [](const torch::Tensor& output, const torch::Tensor& target) { return F::mse_loss(output, target); });

  const auto best = std::make_shared<BestLoss>();
  levin::TrainerOptions options{.max_epochs = 50, .log_every_n_steps = 4, .name = "example_callbacks"};
  options.callbacks = {
      best,
      levin::EarlyStopping({.monitor = "val_loss", .min_delta = 1e-4, .patience = 5}),
      levin::LearningRateMonitor(),
      levin::TerminateOnNaN(),
      levin::LambdaCallback(
          {.on_fit_end = [](levin::Run& run) { std::cout << "trained for " << run.state().epoch << " epochs\n"; }}),
  };
  levin::Trainer trainer(options);
  const auto result = trainer.fit(*module, loader_of(0, 384, true), loader_of(384, 128, false));
  std::cout << result.status << " " << result.stop_reason << "\nbest val_loss " << best->best << " in step "
            << best->step << "\n";
  return best->step > 0 ? 0 : 1;
}
