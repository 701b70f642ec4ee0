// usage: profiled_program CALL OPTIONS [CHECKPOINT]: fit, validate, test or predict of a small module with the
// trainer's options as JSON. profiler_test.py runs the same with PyTorch Lightning.
#include <levin/levin.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

namespace {

struct Net : levin::LightningModule {
  Net() : layer(register_module("layer", torch::nn::Linear(4, 1))) {}

  torch::Tensor loss_of(const levin::Batch& batch) {
    const auto span = run().profile("loss");
    return torch::mse_loss(layer->forward(batch.input()), batch.target());
  }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    const torch::Tensor loss = loss_of(batch);
    log("train_loss", loss);
    return loss;
  }
  void validation_step(const levin::Batch& batch, int64_t) override { log("val_loss", loss_of(batch)); }
  void test_step(const levin::Batch& batch, int64_t) override { log("test_loss", loss_of(batch)); }
  levin::Batch predict_step(const levin::Batch& batch, int64_t) override { return layer->forward(batch.input()); }
  levin::OptimizerConfig configure_optimizers() override {
    return levin::OptimizerConfig(torch::optim::SGD(parameters(), 0.1),
                                  levin::StepLR({.step_size = 1, .gamma = 0.9}, {.interval = "step"}));
  }
  void on_train_epoch_end(levin::Run&) override {}
  void on_train_batch_start(levin::Run&) override {}
  void on_before_optimizer_step(levin::Run&, torch::optim::Optimizer&) override {}
  void on_validation_epoch_start(levin::Run&) override {}
  void on_test_end(levin::Run&) override {}
  void on_predict_batch_end(levin::Run&) override {}
  levin::Batch on_after_batch_transfer(levin::Batch batch, int64_t) override { return batch; }

  torch::nn::Linear layer;
};

levin::data::DataLoader loader() {
  return levin::data::DataLoader(levin::data::TensorDataset(torch::randn({20, 4}), torch::randn({20, 1})),
                                 {.batch_size = 4});
}

int run(const std::string& call, const levin::Json& given, const std::string& checkpoint) {
  levin::TrainerOptions options;
  levin::schema_of<levin::TrainerOptions>().set(&options, "trainer", given);
  options.callbacks.emplace_back(levin::EarlyStopping({.monitor = "val_loss", .patience = 100}));
  options.callbacks.emplace_back(levin::ModelCheckpoint({.monitor = "val_loss", .save_top_k = -1}));
  levin::Trainer trainer(options);
  Net net;
  if (call == "fit") trainer.fit(net, loader(), loader(), checkpoint);
  if (call == "validate") trainer.validate(net, loader());
  if (call == "test") trainer.test(net, loader());
  if (call == "predict") trainer.predict(net, loader());
  levin::Json totals = levin::Json::object();
  for (const levin::ProfiledAction& action : trainer.profile().actions) totals[action.action] = action.calls;
  if (trainer.is_global_zero()) std::cout << totals.dump() << std::endl;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argv[1], levin::Json::parse(argv[2]), argc > 3 ? argv[3] : "");
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
