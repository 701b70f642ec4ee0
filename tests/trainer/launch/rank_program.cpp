// A program of a user's own that trains on two ranks: `rank_program FOLDER BEHAVIOUR`, where rank 1 behaves so.
#include <levin/levin.h>

#include <cstdlib>
#include <iostream>

namespace {

struct Net : levin::LightningModule {
  explicit Net(std::string behaviour_) : behaviour(std::move(behaviour_)) {
    if (behaviour == "other_shapes" && std::getenv("RANK") == std::string("1"))
      head = replace_module("head", torch::nn::Linear(4, 2));
    register_metric("error", error);
  }

  levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
    const bool second = run().comm().rank() == 1;
    if (second && batch_idx == 2) {
      if (behaviour == "throws") throw std::runtime_error("the second rank has had enough");
      if (behaviour == "leaves") std::exit(0);
      if (behaviour == "returns_nothing") return {};
    }
    if (second && behaviour == "logs_another") log("only_here", 7.0);
    const auto output = head(batch.input());
    log("rank_loss", torch::mse_loss(output, batch.target()), {.on_epoch = true});
    const auto loss = torch::mse_loss(output, batch.target());
    if (behaviour == "unused") return loss;
    return loss + 0 * (spare->weight.sum() + spare->bias.sum());
  }
  void validation_step(const levin::Batch& batch, int64_t, int64_t) override {
    const auto output = head(batch.input());
    error(output, batch.target());
    log("val_error", error);
    seen += batch.size();
  }
  void on_train_batch_end(levin::Run& run) override {
    if (behaviour == "stops" && run.comm().rank() == 1 && run.batch_idx() == 2) run.request_stop("rank 1 asked");
  }
  levin::OptimizerConfig configure_optimizers() override { return levin::optim::SGD(parameters(), {.lr = 0.1}); }

  std::string behaviour;
  levin::metrics::MeanSquaredError error;
  int64_t seen = 0;
  torch::nn::Linear head = register_module("head", torch::nn::Linear(4, 1));
  torch::nn::Linear spare = register_module("spare", torch::nn::Linear(2, 2));
};

}  // namespace

int main(int, char** argv) {
  torch::manual_seed(1);
  const auto input = torch::randn({70, 4}), target = input.sum(1, true);
  try {
    levin::TrainerOptions options;
    options.strategy = "ddp";
    options.accelerator = "cpu";
    options.devices = 2;
    options.max_epochs = 2;
    options.log_every_n_steps = 1;
    options.timeout_seconds = 30;
    options.default_root_dir = argv[1];
    options.enable_progress_bar = options.enable_model_summary = false;
    options.num_sanity_val_steps = 0;
    levin::Trainer trainer(options);
    Net net(argv[2]);
    const auto loader = [&](int64_t rows) {
      return levin::data::DataLoader(levin::data::TensorDataset(input.narrow(0, 0, rows), target.narrow(0, 0, rows)),
                                     {.batch_size = 8});
    };
    // 17 samples in rounds of 16: in the second round one rank has one, the other none.
    const levin::RunResult result = trainer.fit(net, loader(70), loader(17));
    std::cout << "rank " << std::getenv("RANK") << ": " << result.status << " " << result.stop_reason << " after "
              << result.global_step << " steps, val_error " << result.metrics.at("val_error") << ", saw " << net.seen
              << " for validation" << std::endl;
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << std::endl;
    return 5;
  }
}
