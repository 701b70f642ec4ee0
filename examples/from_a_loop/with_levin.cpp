// The training of by_hand.cpp with levin, to the same bits. levin also resumes inside an epoch, and keeps a run's
// folder.
//
//     with_levin FOLDER [--max-epochs N] [--max-steps N] [--resume]
#include "problem.h"

#include <levin/lightning.h>
#include <levin/modules/lr_schedulers/lambda_lr.h>
#include <torch/optim/adamw.h>

#include <iostream>
#include <string>
#include <vector>

namespace F = torch::nn::functional;

struct Classifier : levin::LightningModule {
  levin::StepOutput training_step(const levin::Batch& batch, int64_t /*batch_idx*/) override {
    auto loss = F::cross_entropy(net->forward(batch.input()), batch.target());
    log("train_loss", loss, {.prog_bar = true});
    return loss;
  }
  void validation_step(const levin::Batch& batch, int64_t /*batch_idx*/) override {
    const auto output = net->forward(batch.input());
    log("val_loss", F::cross_entropy(output, batch.target()), {.prog_bar = true});
    log("val_acc", (output.argmax(1) == batch.target()).to(torch::kFloat).mean(), {.prog_bar = true});
  }
  levin::OptimizerConfig configure_optimizers() override {
    return {torch::optim::AdamW(parameters(), torch::optim::AdamWOptions(3e-3).weight_decay(0.01)),
            levin::LambdaLR({.lr_lambda = [](int64_t step) { return lr_factor(step, 8, 48); }}, {.interval = "step"})};
  }
  Net net = register_module("net", Net());
};

struct EpochOrder : levin::data::Sampler {
  explicit EpochOrder(int64_t samples_) : samples(samples_) {}
  int64_t size() const override { return samples; }
  std::shared_ptr<const levin::data::SampleOrder> order(uint64_t /*seed*/, int64_t epoch) const override {
    const auto order = order_of_epoch(samples, epoch);
    return levin::data::listed_order({order.data_ptr<int64_t>(), order.data_ptr<int64_t>() + samples});
  }
  int64_t samples;
};

int main(int argc, char** argv) {
  torch::manual_seed(1);
  levin::TrainerOptions options = {
      .max_epochs = 6, .log_every_n_steps = 8, .accumulate_grad_batches = 4, .gradient_clip_val = 1.0};
  options.callbacks = {levin::ModelCheckpoint({.monitor = "val_acc", .save_last = true, .mode = "max"})};
  std::string checkpoint;
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--resume")
      checkpoint = "last";
    else if (words[i] == "--max-epochs")
      options.max_epochs = std::stoll(words.at(++i));
    else if (words[i] == "--max-steps")
      options.max_steps = std::stoll(words.at(++i));
    else
      options.default_root_dir = words[i];
  }
  const Split train = make_split(1024, 2), validation = make_split(250, 3);
  const levin::data::DataLoader train_loader(levin::data::TensorDataset(train.x, train.y),
                                             {.batch_size = 32, .sampler = std::make_shared<EpochOrder>(1024)});
  const levin::data::DataLoader val_loader(levin::data::TensorDataset(validation.x, validation.y), {.batch_size = 32});
  Classifier model;
  levin::Trainer trainer(options);
  const levin::RunResult result = trainer.fit(model, train_loader, val_loader, checkpoint);
  std::cout << "val_acc " << result.metrics.at("val_acc") << ", run folder " << result.folder << "\n";
}
