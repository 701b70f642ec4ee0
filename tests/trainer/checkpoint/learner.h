#pragma once
#include <levin/levin.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/temporary_folder.h"

struct LearnerOptions {
  double lr = LEVIN_OPTION(lr, 0.05, "Learning rate");
  bool plateau = LEVIN_OPTION(plateau, false, "Follow val_loss in place of a cosine");
};

/// A module with all kinds of state that a resume must restore: dropout and noise (random numbers), BatchNorm
/// (buffers), momentum, a schedule, metrics over an epoch (logged in each step or only at its end), and values that are
/// logged only in some steps.
struct Learner : levin::LightningModule {
  using Options = LearnerOptions;
  explicit Learner(Options options_ = Options())
      : options(options_),
        net(register_module(
            "net", torch::nn::Sequential(torch::nn::Linear(6, 16), torch::nn::BatchNorm1d(16), torch::nn::ReLU(),
                                         torch::nn::Dropout(0.2), torch::nn::Linear(16, 3)))),
        accuracy({.task = "multiclass", .num_classes = 3}),
        val_accuracy({.task = "multiclass", .num_classes = 3}),
        epoch_accuracy({.task = "multiclass", .num_classes = 3}) {
    save_hyperparameters(options);
    register_metric("val_acc", val_accuracy);
    register_metric("epoch_acc", epoch_accuracy);
  }

  levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
    const auto logits = net->forward(batch.input() + 0.1 * torch::randn_like(batch.input()));
    auto loss = torch::nn::functional::cross_entropy(logits, batch.target());
    log("train_loss", loss, {.on_step = true, .on_epoch = true});
    if (batch_idx % 3 == 1) log("seldom", logits.abs().max());
    accuracy.update(logits, batch.target());
    log("train_acc", accuracy);
    epoch_accuracy.update(logits, batch.target());
    return loss;
  }
  void on_train_epoch_end(levin::Run&) override { log("epoch_acc", epoch_accuracy); }
  void validation_step(const levin::Batch& batch, int64_t) override {
    const auto logits = net->forward(batch.input());
    log("val_loss", torch::nn::functional::cross_entropy(logits, batch.target()), {.add_dataloader_idx = false});
    if (dataloader_idx() != 0) return;
    val_accuracy.update(logits, batch.target());
    log("val_acc", val_accuracy);
  }
  levin::OptimizerConfig configure_optimizers() override {
    levin::optim::SGD optimizer(parameters(), {.lr = options.lr, .momentum = 0.9});
    if (options.plateau) return {std::move(optimizer), levin::ReduceLROnPlateau({.patience = 0})};
    return {std::move(optimizer), levin::CosineAnnealingLR({.T_max = 30}, {.interval = "step"})};
  }

  Options options;
  torch::nn::Sequential net;
  levin::metrics::Accuracy accuracy, val_accuracy, epoch_accuracy;
};

/// Three classes of points; the training batches are shuffled.
struct Points : levin::data::DataModule {
  explicit Points(int64_t samples = 44) {
    const auto generator = at::detail::createCPUGenerator(3);
    input = torch::randn({samples, 6}, generator);
    target = input.narrow(1, 0, 3).argmax(1);
  }
  levin::data::DataLoader loader(int64_t first, int64_t count, bool shuffle) const {
    return levin::data::DataLoader(
        levin::data::TensorDataset(input.narrow(0, first, count), target.narrow(0, first, count)),
        {.batch_size = 4, .shuffle = shuffle, .seed = 11});
  }
  levin::data::Loaders train_dataloader() override { return loader(0, 30, true); }
  levin::data::Loaders val_dataloader() override { return {loader(30, 10, false), loader(38, 6, false)}; }

  torch::Tensor input, target;
};

/// Returns options for three epochs of 8 batches, accumulated over 3 batches, with a validation after every 5 batches.
inline levin::TrainerOptions resumable(const std::filesystem::path& root) {
  levin::TrainerOptions options;
  options.max_epochs = 3;
  options.accumulate_grad_batches = 3;
  options.val_check_interval = 5;
  options.log_every_n_steps = 1;
  options.gradient_clip_val = 1.0;
  options.enable_progress_bar = false;
  options.enable_model_summary = false;
  options.enable_checkpointing = false;
  options.default_root_dir = root.string();
  options.name = "run";
  options.seed = 5;
  return options;
}

/// Returns the rows of metrics.jsonl without their times.
inline std::vector<std::string> rows_in(const std::filesystem::path& run_folder) {
  std::vector<std::string> rows;
  std::ifstream file(run_folder / "metrics.jsonl");
  for (std::string line; std::getline(file, line);) {
    auto row = nlohmann::ordered_json::parse(line);
    row.erase("wall_seconds");
    rows.push_back(row.dump());
  }
  return rows;
}

/// Returns the first difference between two state dicts; empty if they are bitwise equal.
inline std::string first_difference(const levin::State& a, const levin::State& b) {
  if (a.size() != b.size()) return "their number of keys";
  for (const auto& [key, value] : a.to_dict())
    if (!torch::equal(value.to_tensor(), b.at(key).to_tensor())) return levin::to_text(key);
  return "";
}

inline levin::State weights_copy(const levin::LightningModule& module) {
  levin::State copy = levin::State::dict();
  const levin::State weights = levin::module_state_dict(module);
  for (const auto& [key, value] : weights.to_dict()) copy[key] = value.to_tensor().clone();
  return copy;
}
