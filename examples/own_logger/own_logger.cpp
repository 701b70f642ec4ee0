// A logger of your own, and a module that logs more than numbers.
#include <levin/levin.h>

#include <iostream>

struct PrintingLogger : levin::Logger {
  std::string name() const override { return "PrintingLogger"; }
  void log_metrics(const levin::Metrics& values, const levin::LogRow& where) override {
    for (const auto& [metric, value] : values) std::cout << where.step << " " << metric << " " << value << "\n";
  }
  void log_text(const std::string& title, const std::string& text, const levin::LogRow&) override {
    std::cout << title << ": " << text << "\n";
  }
};

struct Line : levin::LightningModule {
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    auto loss = torch::mse_loss(fit(batch.input()), batch.target());
    log("train_loss", loss);
    return loss;
  }
  void on_train_epoch_end(levin::Run& run) override {
    run.log_text("note", "epoch " + std::to_string(run.state().epoch));
    run.log_histogram("fit.weight", fit->weight);  // loggers that show no histograms ignore it
  }
  levin::OptimizerConfig configure_optimizers() override { return levin::optim::SGD(parameters(), {.lr = 0.1}); }
  torch::nn::Linear fit = register_module("fit", torch::nn::Linear(1, 1));
};

int main() {
  const auto x = torch::linspace(-1, 1, 64).view({64, 1});
  // BackgroundLogger calls it on a thread, so that one which waits for a network holds nobody.
  levin::Trainer trainer({.logger = std::make_shared<levin::BackgroundLogger>(std::make_shared<PrintingLogger>()),
                          .max_epochs = 2,
                          .log_every_n_steps = 1,
                          .enable_checkpointing = false,
                          .default_root_dir = "runs"});
  Line line;
  trainer.fit(line, levin::data::DataLoader(levin::data::TensorDataset(x, 2 * x + 1), {.batch_size = 16}));
}
