// TerminateOnNaN names where the first value came from that is not finite.
#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/small_modules.h"

namespace {

/// A network whose loss is computed by a function of its output.
struct OddLoss : ToyModule {
  explicit OddLoss(std::function<torch::Tensor(const torch::Tensor&)> loss_) : loss(std::move(loss_)) {}
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    return loss(net->forward(batch.input()));
  }
  std::function<torch::Tensor(const torch::Tensor&)> loss;
};

std::string end_of_fit(ToyModule& module, levin::TerminateOnNaNOptions how = {}) {
  const CapturedStderr captured;
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 1;
  options.callbacks = {levin::TerminateOnNaN(how)};
  return error_text([&] { levin::Trainer(options).fit(module, ToyData(8).loader(4)); });
}

}  // namespace

TEST_CASE("TerminateOnNaN names the first output that is not finite, and spares the weights") {
  OddLoss module([](const torch::Tensor& output) { return (output.abs() * -1).log().mean(); });
  const auto before = copies(module.parameters());
  const std::string error = end_of_fit(module);
  INFO(error);
  CHECK(contains(error, "in step 1; the first output that is not finite: log of [4, 1], after layer net.3"));
  CHECK(bit_equal(before, module.parameters()));
}

TEST_CASE("TerminateOnNaN names a layer whose output overflows, and the parameter that was broken before") {
  OddLoss module([](const torch::Tensor& output) { return output.mean(); });
  SECTION("too large") {
    torch::NoGradGuard no_grad;
    module.net[3]->as<torch::nn::Linear>()->bias.fill_(3e38);
    module.net[3]->as<torch::nn::Linear>()->weight.fill_(3e38).mul_(torch::ones({1, 8}));
    module.net[0]->as<torch::nn::Linear>()->bias.fill_(10);
    const std::string error = end_of_fit(module);
    INFO(error);
    CHECK(contains(error,
                   "is not finite: layer net.3 (torch::nn::LinearImpl, weight [1, 8], bias [1]) was given [4, 8]"));
  }
  SECTION("broken") {
    torch::NoGradGuard no_grad;
    module.net[0]->as<torch::nn::Linear>()->bias[1].fill_(std::numeric_limits<double>::quiet_NaN());
    const std::string error = end_of_fit(module);
    INFO(error);
    CHECK(contains(error, "is not finite: layer net.0"));
    CHECK(contains(error, "the parameter net.0.bias was not finite before"));
  }
}

TEST_CASE("masks of minus infinity are no fault, and a batch that is not finite is said to be one") {
  OddLoss masked([](const torch::Tensor& output) {
    const auto mask = torch::zeros({4, 2}).index_fill_(1, torch::tensor({1}), -std::numeric_limits<double>::infinity());
    return ((output + mask).softmax(1) / (output * 0)).mean();
  });
  std::string error = end_of_fit(masked);
  INFO(error);
  CHECK(contains(error, "is not finite: div of [4, 2] and [4, 1], after layer net.3"));

  const CapturedStderr captured;
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 1;
  options.callbacks = {levin::TerminateOnNaN()};
  ToyData data(8);
  data.input[1][2] = std::numeric_limits<double>::quiet_NaN();
  ToyModule module;
  error = error_text([&] { levin::Trainer(options).fit(module, data.loader(4)); });
  INFO(error);
  CHECK(contains(error, "the batch itself has values that are not finite"));
}

TEST_CASE("a gradient that is not finite is found on request before the step") {
  OddLoss module([](const torch::Tensor& output) { return (output * 0).sqrt().sum() + output.mean(); });
  const auto before = copies(module.parameters());
  const std::string error = end_of_fit(module, {.check_gradients = true});
  INFO(error);
  CHECK(contains(error, "TerminateOnNaN: the gradient of net.3.bias was NaN or infinite in step 1"));
  CHECK(contains(error, "the first output whose gradient is not finite: mul of [4, 1], after layer net.3"));
  CHECK(bit_equal(before, module.parameters()));

  OddLoss again([](const torch::Tensor& output) { return (output * 0).sqrt().sum() + output.mean(); });
  CHECK(contains(end_of_fit(again), "the parameter net.0.weight was not finite before"));
}
