// 16 bit on the GPU: the dtype of steps, scaled losses, and the memory that is saved.
#include <levin/core/state/state_file.h>
#include <levin/core/system/memory_use.h>

#include <limits>

#include "tests/gpu/training.h"

namespace {

/// Records the dtype of its step's output.
struct Typed : ToyModule {
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    dtype = net->forward(batch.input()).scalar_type();
    return loss_of(batch);
  }
  at::ScalarType dtype = at::kFloat;
};

levin::TrainerOptions with_precision(const TemporaryFolder& folder, const levin::Precision& precision) {
  levin::TrainerOptions options = on(folder, "gpu");
  options.precision = precision;
  return options;
}

double scale_of(levin::Trainer& trainer, const TemporaryFolder& folder) {
  trainer.save_checkpoint(folder / "scaler.ckpt");
  return levin::load_state(folder / "scaler.ckpt").at("MixedPrecision").at("scale").to_double();
}

/// A module whose activations take much more memory than its weights.
struct Wide : ToyModule {
  Wide() : ToyModule(torch::nn::Sequential()) {
    for (int i = 0; i < 12; ++i) {
      net->push_back(torch::nn::Linear(512, 512));
      net->push_back(torch::nn::ReLU());
    }
  }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    return net->forward(batch.input()).pow(2).mean();
  }
  levin::OptimizerConfig configure_optimizers() override { return levin::optim::SGD(parameters(), {.lr = 1e-3}); }
};

/// Returns the peak memory of tensors in three steps.
int64_t peak_of(const levin::Precision& precision) {
  const TemporaryFolder folder;
  const std::vector<levin::Batch> batches(3, levin::Batch(torch::randn({32768, 512}, kGpu), torch::zeros({1}, kGpu)));
  levin::reset_peak_memory(kGpu);
  const int64_t before = levin::device_memory(kGpu)->allocated;
  Wide module;
  levin::TrainerOptions options = with_precision(folder, precision);
  options.max_epochs = 1;
  options.accumulate_grad_batches = 1;
  levin::Trainer(options).fit(module, batches);
  return levin::device_memory(kGpu)->allocated_peak - before;
}

}  // namespace

TEST_CASE("each precision computes in its dtype on the GPU, and learns what 32 bit does", "[precision]") {
  const ToyData data(64);
  const auto trained = [&](const levin::Precision& precision, at::ScalarType dtype) {
    const TemporaryFolder folder;
    torch::manual_seed(1);
    Typed module;
    module.optimizers_of = [](ToyModule& m) { return levin::optim::SGD(m.parameters(), {.lr = 0.05}); };
    levin::Trainer(with_precision(folder, precision)).fit(module, data.loader(8));
    CHECK(module.dtype == dtype);
    return weights_on_cpu(module);
  };
  const auto expected = trained("64-true", at::kDouble);
  CHECK(largest_difference(trained("32-true", at::kFloat), expected) < 1e-4);
  CHECK(largest_difference(trained("bf16-mixed", at::kBFloat16), expected) < 0.02);
  CHECK(largest_difference(trained("16-mixed", at::kHalf), expected) < 0.02);
  CHECK(largest_difference(trained("bf16-true", at::kBFloat16), expected) < 0.05);
  CHECK(largest_difference(trained("16-true", at::kHalf), expected) < 0.02);
}

TEST_CASE("16-mixed on the GPU is the loop written by hand with Autocast and GradScaler", "[precision]") {
  ToyData data(64);
  data.target[8 * 5] = 1e30;  // the loss of batch 5 is infinite
  torch::manual_seed(1);
  ToyModule by_hand, by_fit;
  for (size_t i = 0; i < by_hand.parameters().size(); ++i)
    by_fit.parameters()[i].data().copy_(by_hand.parameters()[i].data());
  by_hand.to(kGpu);
  torch::optim::SGD optimizer(by_hand.parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  levin::optim::GradScaler scaler;
  int64_t skipped = 0;
  for (int64_t i = 0; i < 16; ++i) {
    optimizer.zero_grad();
    torch::Tensor loss;
    {
      const levin::Autocast autocast(at::kCUDA, at::kHalf);
      loss = torch::mse_loss(by_hand.net->forward(data.input.narrow(0, 8 * (i % 8), 8).to(kGpu)),
                             data.target.narrow(0, 8 * (i % 8), 8).to(kGpu));
    }
    scaler.scale(loss).backward();
    skipped += scaler.step(optimizer) ? 0 : 1;
    scaler.update();
  }
  CHECK(skipped >= 2);
  const TemporaryFolder folder;
  levin::TrainerOptions options = with_precision(folder, "16-mixed");
  options.max_epochs = 2;
  options.accumulate_grad_batches = 1;
  options.gradient_clip_val = {};
  levin::Trainer trainer(options);
  trainer.fit(by_fit, data.loader(8));
  CHECK(largest_difference(weights_on_cpu(by_fit), weights_on_cpu(by_hand)) < 1e-5);
  CHECK(scale_of(trainer, folder) == scaler.get_scale());
}

TEST_CASE("a GradScaler on the GPU skips what is infinite, halves its scale, and doubles it again", "[precision]") {
  auto weight = torch::ones({4}, torch::dtype(torch::kFloat).device(kGpu).requires_grad(true));
  torch::optim::SGD optimizer({weight}, 0.125);
  levin::optim::GradScaler scaler({.init_scale = 1024, .growth_interval = 3});
  const auto step = [&](double factor) {
    optimizer.zero_grad();
    scaler.scale((weight * factor).sum()).backward();
    const bool made = scaler.step(optimizer);
    scaler.update();
    return made;
  };
  CHECK_FALSE(step(std::numeric_limits<double>::infinity()));
  CHECK(scaler.get_scale() == 512);
  CHECK(torch::equal(weight.detach().cpu(), torch::ones({4})));
  for (int i = 0; i < 3; ++i) CHECK(step(1));
  CHECK(scaler.get_scale() == 1024);
  CHECK(torch::allclose(weight.detach().cpu(), torch::full({4}, 1 - 3 * 0.125)));
  CHECK_FALSE(step(std::numeric_limits<double>::quiet_NaN()));
  CHECK(scaler.get_scale() == 512);
}

TEST_CASE("activations in 16 bit take about half the memory", "[precision]") {
  peak_of("32-true");  // libraries take their workspaces
  const auto full = static_cast<double>(peak_of("32-true"));
  for (const char* precision : {"bf16-mixed", "16-mixed", "bf16-true", "16-true"}) {
    const double share = static_cast<double>(peak_of(precision)) / full;
    std::printf("gpu_test: memory of %s: %.2f of 32-true's %.0f MB\n", precision, share, full / 1e6);
    CHECK(share < 0.75);
    CHECK(share > 0.3);
  }
}

TEST_CASE("activations that are computed again take less memory, and give the same gradients", "[precision]") {
  const auto gradients_and_peak = [](bool again) {
    torch::manual_seed(1);
    levin::nn::GPT net(levin::nn::GPTOptions{.vocab_size = 65, .block_size = 256, .layers = 6, .dropout = 0.1});
    net->to(kGpu);
    levin::set_checkpoint_activations(*net, again);
    const auto tokens = torch::randint(65, {16, 256}, torch::TensorOptions(torch::kLong).device(kGpu));
    torch::manual_seed(4);
    levin::reset_peak_memory(kGpu);
    const int64_t before = levin::device_memory(kGpu)->allocated;
    net->forward(tokens).pow(2).mean().backward();
    const int64_t peak = levin::device_memory(kGpu)->allocated_peak - before;
    std::vector<torch::Tensor> gradients;
    for (const auto& parameter : net->parameters()) gradients.push_back(parameter.grad().cpu());
    return std::make_pair(gradients, peak);
  };
  gradients_and_peak(false);  // libraries take their workspaces
  const auto [expected, whole] = gradients_and_peak(false);
  const auto [gradients, less] = gradients_and_peak(true);
  CHECK(largest_difference(gradients, expected) < 1e-5);
  CHECK(less < whole);
}
