// A program with a tiny module, whose trials can go wrong.
#include <levin/levin.h>
#include <levin/program/main.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <thread>

namespace {

struct Slope : levin::LightningModule {
  struct Options {
    double lr = LEVIN_OPTION(lr, 0.1, "Learning rate", {.exclusive_min = 0});
    int64_t width = LEVIN_OPTION(width, 2, "Units of the hidden layer", {.min = 1});
    std::string mishap = LEVIN_OPTION(mishap, "none", "What goes wrong in the second epoch",
                                      {.choices = {"none", "throw", "nan", "kill", "kill_once", "quiet"}});
    int64_t pause = LEVIN_OPTION(pause, 0, "Milliseconds of a step");
  };
  explicit Slope(Options o)
      : options(std::move(o)),
        net(register_module("net", torch::nn::Sequential(torch::nn::Linear(2, options.width), torch::nn::Tanh(),
                                                         torch::nn::Linear(options.width, 1)))) {}

  at::Tensor loss_of(const levin::Batch& batch) { return torch::mse_loss(net->forward(batch.input()), batch.target()); }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(options.pause));
    at::Tensor loss = loss_of(batch);
    if (current_epoch() == 1 && batch_idx == 2) {
      if (options.mishap == "throw") throw std::runtime_error("the step \"failed\", badly");
      if (options.mishap == "kill") raise(SIGKILL);
      const auto mark = run().folder().parent_path().parent_path() / "killed";
      if (options.mishap == "kill_once" && !std::filesystem::exists(mark)) {
        std::ofstream(mark) << "once";
        raise(SIGKILL);
      }
    }
    log("train_loss", loss);
    return loss;
  }
  void validation_step(const levin::Batch& batch, int64_t) override {
    if (options.mishap == "quiet") return;
    const at::Tensor loss = loss_of(batch);
    log("val_loss", options.mishap == "nan" ? loss * std::nan("") : loss);
  }
  levin::OptimizerConfig configure_optimizers() override {
    return levin::optim::Adam(parameters(), {.lr = options.lr});
  }
  Options options;
  torch::nn::Sequential net;
};
LEVIN_REGISTER_MODULE(Slope);

struct Points : levin::data::DataModule {
  static levin::data::Loaders loader(bool shuffle) {
    const at::Tensor x = torch::linspace(-1, 1, 48).reshape({24, 2});
    return levin::data::DataLoader(levin::data::TensorDataset(x, x.prod(1, true)),
                                   {.batch_size = 4, .shuffle = shuffle});
  }
  levin::data::Loaders train_dataloader() override { return loader(true); }
  levin::data::Loaders val_dataloader() override { return loader(false); }
};
LEVIN_REGISTER_DATA_MODULE(Points);

}  // namespace

int main(int argc, char** argv) { return levin::cli::main(argc, argv); }
