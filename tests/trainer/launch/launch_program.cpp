// A program that starts its ranks by levin::launch: `launch_program FOLDER BEHAVIOUR`. Each process writes to FOLDER
// what it does: the starting one under "parent", each rank under its number.
#include <levin/levin.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>

namespace {

/// Writes to this process's file.
void note(const std::filesystem::path& folder, const std::string& text) {
  const char* const rank = std::getenv("RANK");
  std::ofstream(folder / (rank == nullptr ? "parent" : rank), std::ios::app) << text << "\n";
}

/// A local of main whose destructor must run in every process.
struct Local {
  ~Local() { note(folder, "leaves main"); }
  std::filesystem::path folder;
};

struct Line : levin::LightningModule {
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    ranks = world_size();
    return torch::mse_loss(net(batch.input()), batch.target());
  }
  levin::OptimizerConfig configure_optimizers() override { return levin::optim::SGD(parameters(), {.lr = 0.1}); }
  int64_t ranks = 0;
  torch::nn::Linear net = register_module("net", torch::nn::Linear(2, 1));
};

}  // namespace

int main(int, char** argv) {
  const Local local{argv[1]};
  const std::string behaviour = argv[2];
  try {
    levin::TrainerOptions options;
    options.strategy = behaviour == "alone" ? "auto" : "ddp";
    options.accelerator = "cpu";
    options.devices = behaviour == "alone" ? 1 : 2;
    options.max_epochs = 1;
    options.default_root_dir = argv[1];
    options.enable_progress_bar = options.enable_model_summary = false;
    if (behaviour == "wrong") options.max_restarts = -1;
    if (const std::optional<int> code = levin::launch(options)) {
      note(local.folder, "launched: " + std::to_string(*code));
      return *code;
    }
    note(local.folder, "trains");
    const char* const rank = std::getenv("RANK");
    if (behaviour == "fails" && rank != nullptr && rank == std::string("1")) return 7;
    levin::Trainer trainer(options);
    Line line;
    const auto input = torch::arange(16.).view({8, 2}) / 16;
    trainer.fit(line,
                levin::data::DataLoader(levin::data::TensorDataset(input, input.sum(1, true)), {.batch_size = 2}));
    note(local.folder, "fitted with " + std::to_string(line.ranks) + " ranks");
  } catch (const levin::UsageError& error) {
    std::cerr << "error: " << error.what() << std::endl;
    return 2;
  }
}
