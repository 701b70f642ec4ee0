// A user's program: a module and a data module, registered by name, plus everything that the `levin` program offers:
// configs, flags, the environment, --help.
//
//   example_own_main fit --model.class Regressor --data.class Waves --max-epochs 3 --model.lr 0.01 --data.batch_size 64
#include <levin/levin.h>

#include <numbers>

namespace F = torch::nn::functional;

struct Regressor : levin::LightningModule {
  struct Options {
    int64_t hidden = LEVIN_OPTION(hidden, 32, "Units of the hidden layer", {.min = 1});
    double lr = LEVIN_OPTION(lr, 1e-2, "Learning rate", {.min = 0});
  };
  explicit Regressor(Options options_)
      : options(options_),
        net(register_module("net", torch::nn::Sequential(torch::nn::Linear(1, options_.hidden), torch::nn::Tanh(),
                                                         torch::nn::Linear(options_.hidden, 1)))) {
    save_hyperparameters(options);
  }

  torch::Tensor loss(const levin::Batch& batch) { return F::mse_loss(net->forward(batch.input()), batch.target()); }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t /*batch_idx*/) override {
    const auto value = loss(batch);
    log("train_loss", value, {.prog_bar = true});
    return value;
  }
  void validation_step(const levin::Batch& batch, int64_t /*batch_idx*/) override {
    log("val_loss", loss(batch), {.prog_bar = true});
  }
  levin::OptimizerConfig configure_optimizers() override {
    return levin::optim::Adam(parameters(), {.lr = options.lr});
  }

  Options options;
  torch::nn::Sequential net;
};

struct Waves : levin::data::DataModule {
  struct Options {
    int64_t samples = LEVIN_OPTION(samples, 1000, "Points of the curve", {.min = 10});
    int64_t batch_size = LEVIN_OPTION(batch_size, 32, "Samples per batch", {.min = 1});
  };
  explicit Waves(Options options_) : options(options_) {}

  levin::data::DataLoader loader(double from, double to, bool shuffle) const {
    const auto x = torch::linspace(from, to, options.samples).unsqueeze(1);
    return levin::data::DataLoader(levin::data::TensorDataset(x, (std::numbers::pi * x).sin()),
                                   {.batch_size = options.batch_size, .shuffle = shuffle});
  }
  levin::data::Loaders train_dataloader() override { return loader(-1, 1, true); }
  levin::data::Loaders val_dataloader() override { return loader(-0.99, 0.99, false); }

  Options options;
};

LEVIN_REGISTER_MODULE(Regressor);
LEVIN_REGISTER_DATA_MODULE(Waves);

int main(int argc, char** argv) { return levin::cli::main(argc, argv); }
