#pragma once
#include <levin/levin.h>

#include <memory>
#include <string>
#include <vector>

/// A training: a network, its data, and its optimizer.
struct TrainingCase {
  std::string name;
  int64_t batch_size, samples;
  int64_t epochs;  ///< of one round of measuring
  bool adam;

  int64_t steps_per_epoch() const { return samples / batch_size; }
  int64_t steps() const { return epochs * steps_per_epoch(); }
};

/// mlp (784-64-10), mlp_adam, lenet, resnet18 (for 32x32), gpt (4 blocks of 128), scalar (one parameter and a loss of
/// two operations, so that the loop's overhead dominates), mlp_100m (100 million parameters), mlp_1024 (1024-1024-10)
/// and mlp_wide (16384-1024-10: batches that take as long to copy to a GPU as to compute).
const std::vector<TrainingCase>& training_cases();

/// Returns the case of this name; throws levin::UsageError that lists all names.
const TrainingCase& training_case(const std::string& name);

/// Normally distributed data: with pixels from 0 to 1 some hidden units die, and their momentum shrinks to denormal
/// numbers, which processors compute many times slower.
struct TrainingData {
  explicit TrainingData(const TrainingCase& which);
  torch::Tensor input, target;
};

/// The network; it logs its loss as a user would.
struct BenchmarkModule : levin::LightningModule {
  BenchmarkModule(TrainingCase which_, bool levins_optimizer_);

  torch::Tensor loss(const torch::Tensor& input, const torch::Tensor& target) { return loss_of(input, target); }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    auto result = loss(batch.input(), batch.target());
    log("train_loss", result, {.prog_bar = true});
    return result;
  }
  /// Makes LibTorch's or levin's optimizer.
  std::shared_ptr<torch::optim::Optimizer> optimizer();
  levin::OptimizerConfig configure_optimizers() override { return optimizer(); }

  TrainingCase which;
  bool levins_optimizer;
  std::function<torch::Tensor(const torch::Tensor& input, const torch::Tensor& target)> loss_of;
};
