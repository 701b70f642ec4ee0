// Trains a small module that logs an image, a histogram and a text in each epoch, with TensorBoardLogger and its graph.
// usage: tensorboard_tool FOLDER
#include "tests/small_modules.h"

namespace {

struct NetOptions {
  int64_t hidden = LEVIN_OPTION(hidden, 8, "Hidden units");
};

struct Net : ToyModule {
  Net() {
    save_hyperparameters(NetOptions{});
    example_input = levin::Batch({{"input", torch::zeros({5, 4})}});
  }
  levin::Batch predict_step(const levin::Batch& batch, int64_t) override {
    return {{"output", net->forward(batch.input())}};
  }
  void on_train_epoch_end(levin::Run& run) override {
    run.log_histogram("values", torch::arange(-50, 50, torch::kFloat) * 0.1);
    run.log_image("ramp", torch::linspace(0, 1, 12).view({3, 2, 2}));
    run.log_text("note", "epoch **" + std::to_string(run.state().epoch) + "**");
  }
};

}  // namespace

int main(int, char** arguments) {
  Net module;
  levin::Trainer trainer(
      {.logger = levin::LoggerChoice::Parts{{"TensorBoardLogger", levin::TensorBoardLoggerOptions{.log_graph = true}}},
       .max_epochs = 2,
       .log_every_n_steps = 1,
       .enable_progress_bar = false,
       .default_root_dir = arguments[1],
       .name = "graph"});
  trainer.fit(module, ToyData(16).loader(8));
}
