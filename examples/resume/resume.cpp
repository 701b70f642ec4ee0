// A run that is stopped and resumed gives bitwise the same result as an uninterrupted run.
//
// Trains six epochs without interruption; then the same with a stop after two and a half epochs, and a new module and
// trainer that resume from "last". A module must put state that is neither a parameter nor a buffer into the checkpoint
// itself: here, the number of samples of each class that it has seen.
#include <levin/core/system/private_folder.h>
#include <levin/levin.h>

#include <iostream>

namespace F = torch::nn::functional;

struct Classifier : levin::LightningModule {
  Classifier()
      : net(register_module("net", torch::nn::Sequential(torch::nn::Linear(8, 32), torch::nn::ReLU(),
                                                         torch::nn::Dropout(0.2), torch::nn::Linear(32, 4)))) {}

  levin::StepOutput training_step(const levin::Batch& batch, int64_t /*batch_idx*/) override {
    for (int64_t i = 0; i < batch.size(); ++i) seen[batch.target()[i].item<int64_t>()] += 1;
    const auto loss = F::cross_entropy(net->forward(batch.input()), batch.target());
    log("train_loss", loss);
    return loss;
  }
  levin::OptimizerConfig configure_optimizers() override {
    return {levin::optim::AdamW(parameters(), {.lr = 1e-2}), levin::StepLR({.step_size = 2})};
  }
  void on_save_checkpoint(levin::Run& /*run*/, levin::State& checkpoint) override {
    checkpoint["seen"] = levin::State::list();
    for (const int64_t count : seen) checkpoint["seen"].push_back(count);
  }
  void on_load_checkpoint(levin::Run& /*run*/, const levin::State& checkpoint) override {
    for (size_t i = 0; i < seen.size(); ++i) seen[i] = checkpoint.at("seen").items()[i].to_int();
  }

  torch::nn::Sequential net;
  std::vector<int64_t> seen = std::vector<int64_t>(4);
};

levin::data::DataLoader shuffled_points() {
  const auto generator = at::detail::createCPUGenerator(7);
  const auto input = torch::randn({1000, 8}, generator);
  return levin::data::DataLoader(levin::data::TensorDataset(input, input.narrow(1, 0, 4).argmax(1)),
                                 {.batch_size = 20, .shuffle = true, .num_workers = 2});
}

int main() {
  const levin::PrivateFolder folder("example_resume");
  levin::TrainerOptions options{.max_epochs = 6, .enable_progress_bar = false, .enable_model_summary = false};
  options.default_root_dir = folder.path().string();
  options.seed = 1;

  torch::manual_seed(1);
  Classifier unbroken;
  options.name = "unbroken";
  levin::Trainer(options).fit(unbroken, shuffled_points());

  options.name = "broken";
  {
    torch::manual_seed(1);
    Classifier module;
    levin::TrainerOptions first_half = options;
    first_half.max_steps = 125;  // 50 steps per epoch
    levin::Trainer(first_half).fit(module, shuffled_points());
  }
  Classifier module;  // its initial weights are replaced by those of the checkpoint
  const levin::RunResult result = levin::Trainer(options).fit(module, shuffled_points(), {}, "last");

  bool equal = module.seen == unbroken.seen;
  for (const auto& parameter : module.named_parameters())
    equal = equal && torch::equal(parameter.value(), unbroken.named_parameters()[parameter.key()]);
  std::cout << result.global_step << " steps in two sessions, " << result.folder.string() << ": "
            << (equal ? "equal to the unbroken run, to the bit" : "NOT equal to the unbroken run") << "\n";
  return equal ? 0 : 1;
}
