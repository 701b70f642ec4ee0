#include <levin/modules/parallel/pipeline/pipeline.h>
#include <levin/core/system/error.h>
#include <torch/torch.h>

#include <algorithm>

#include "tests/catch.h"
#include "tests/error_text.h"

namespace F = torch::nn::functional;
using levin::parallel::Pipeline;
using levin::parallel::PipelineOptions;
using torch::nn::Linear;
using torch::nn::Sequential;

namespace {

constexpr auto kDouble = torch::kDouble;

struct Parts {
  Parts() {
    torch::manual_seed(2);
    stages = {Sequential(Linear(4, 8), torch::nn::Tanh()), Sequential(Linear(8, 8), torch::nn::Tanh()),
              Sequential(Linear(8, 3))};
    for (Sequential& stage : stages) stage->to(kDouble);
  }
  Pipeline pipeline(int64_t micro_batches) const {
    Pipeline net(PipelineOptions{.micro_batches = micro_batches});
    for (const Sequential& stage : stages) net->push_back(stage, torch::kCPU);
    return net;
  }
  torch::Tensor plain(torch::Tensor x) {
    for (Sequential& stage : stages) x = stage->forward(x);
    return x;
  }
  /// Removes the gradients of all parameters and of `input`.
  std::vector<torch::Tensor> take_gradients(const torch::Tensor& input) {
    std::vector<torch::Tensor> gradients;
    for (const Sequential& stage : stages)
      for (torch::Tensor& parameter : stage->parameters())
        gradients.push_back(std::exchange(parameter.mutable_grad(), torch::Tensor()));
    torch::Tensor leaf = input;
    gradients.push_back(std::exchange(leaf.mutable_grad(), torch::Tensor()));
    return gradients;
  }
  std::vector<Sequential> stages;
};

void check_close(const std::vector<torch::Tensor>& a, const std::vector<torch::Tensor>& b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    REQUIRE(a[i].defined() == b[i].defined());
    if (a[i].defined()) CHECK(torch::allclose(a[i], b[i], 1e-12, 1e-14));
  }
}

/// A stage that counts the micro-batches between its forward and their backward.
struct CountingImpl : torch::nn::Module {
  CountingImpl() : linear(register_module("linear", Linear(4, 4))) {}
  torch::Tensor forward(const torch::Tensor& x) {
    torch::Tensor y = linear(x);
    most = std::max(most, ++on_the_way);
    if (y.requires_grad()) y.register_hook([this](const torch::Tensor&) { --on_the_way; });
    return y;
  }
  Linear linear;
  int on_the_way = 0, most = 0;
};
TORCH_MODULE(Counting);

}  // namespace

TEST_CASE("a pipeline gives the outputs and gradients of its stages one after another") {
  Parts parts;
  const torch::Tensor input = torch::randn({7, 4}, kDouble).requires_grad_(), target = torch::randint(3, {7});
  const torch::Tensor expected = parts.plain(input);
  const torch::Tensor expected_loss = F::cross_entropy(expected, target);
  (2 * expected_loss).backward();
  const auto gradients = parts.take_gradients(input);
  for (const int64_t micro_batches : {1, 2, 3, 7, 20}) {
    INFO(micro_batches << " micro-batches");
    Pipeline net = parts.pipeline(micro_batches);
    SECTION("GPipe " + std::to_string(micro_batches)) {
      const torch::Tensor output = net->forward(input);
      CHECK(torch::allclose(output, expected, 1e-12, 1e-14));
      (2 * F::cross_entropy(output, target)).backward();
      check_close(parts.take_gradients(input), gradients);
    }
    SECTION("1F1B " + std::to_string(micro_batches)) {
      const torch::Tensor loss = net->loss(input, target, [](const torch::Tensor& output, const torch::Tensor& labels) {
        return F::cross_entropy(output, labels);
      });
      CHECK(torch::allclose(loss, expected_loss, 1e-12, 1e-14));
      (2 * loss).backward();
      check_close(parts.take_gradients(input), gradients);
    }
  }
}

TEST_CASE("a frozen stage in the middle lets gradients through and has none") {
  Parts parts;
  for (torch::Tensor& parameter : parts.stages[1]->parameters()) parameter.requires_grad_(false);
  const torch::Tensor input = torch::randn({6, 4}, kDouble);  // data: it needs no gradient
  parts.plain(input).pow(2).mean().backward();
  const auto expected = parts.take_gradients(input);
  parts.pipeline(3)->forward(input).pow(2).mean().backward();
  check_close(parts.take_gradients(input), expected);
}

TEST_CASE("without gradients the micro-batches only pass through") {
  Parts parts;
  const torch::Tensor input = torch::randn({5, 4}, kDouble), target = torch::randint(3, {5});
  const torch::NoGradGuard no_grad;
  const torch::Tensor output = parts.pipeline(2)->forward(input);
  CHECK(torch::allclose(output, parts.plain(input)));
  CHECK_FALSE(output.requires_grad());
  const auto loss = parts.pipeline(2)->loss(input, target, [](const torch::Tensor& out, const torch::Tensor& labels) {
    return F::cross_entropy(out, labels);
  });
  CHECK(torch::allclose(loss, F::cross_entropy(parts.plain(input), target)));
}

TEST_CASE("1F1B keeps no more micro-batches on the way than there are stages ahead") {
  Pipeline net(PipelineOptions{.micro_batches = 8});
  std::vector<Counting> stages(3);
  for (Counting& stage : stages) {
    stage = Counting();
    net->push_back(stage, torch::kCPU);
  }
  const torch::Tensor input = torch::randn({16, 4}), target = torch::randn({16, 4});
  net->loss(input, target,
            [](const torch::Tensor& out, const torch::Tensor& wanted) { return torch::mse_loss(out, wanted); })
      .backward();
  for (size_t i = 0; i < stages.size(); ++i) {
    CHECK(stages[i]->most == static_cast<int>(stages.size() - i));
    CHECK(stages[i]->on_the_way == 0);
  }
  for (Counting& stage : stages) stage->most = 0;
  net->forward(input).sum().backward();
  for (const Counting& stage : stages) CHECK(stage->most == 8);
}

TEST_CASE("an exception in one stage ends all of them, and the next batch runs") {
  struct FailingImpl : torch::nn::Module {
    torch::Tensor forward(const torch::Tensor& x) {
      if (fails) throw levin::UsageError("the stage does not like it");
      return x * 2;
    }
    bool fails = true;
  };
  Parts parts;
  const auto failing = std::make_shared<FailingImpl>();
  Pipeline net(PipelineOptions{.micro_batches = 4});
  net->push_back(parts.stages[0], torch::kCPU);
  net->push_back(failing, torch::kCPU);
  net->push_back(parts.stages[1], torch::kCPU);
  const torch::Tensor input = torch::randn({8, 4}, kDouble);
  CHECK(contains(error_text<levin::UsageError>([&] { net->forward(input); }), "the stage does not like it"));
  failing->fails = false;
  CHECK(net->forward(input).size(0) == 8);
}

TEST_CASE("a pipeline says what it cannot take") {
  Parts parts;
  CHECK(contains(error_text<levin::UsageError>([] { Pipeline(PipelineOptions{.micro_batches = 0}); }), "at least 1"));
  CHECK(contains(error_text<levin::UsageError>([] { Pipeline()->forward(torch::rand({2, 4})); }), "push_back"));
  CHECK(contains(error_text<levin::UsageError>([&] { parts.pipeline(2)->forward(torch::rand({0, 4})); }), "[0, 4]"));
  const torch::Tensor output = parts.pipeline(2)->forward(torch::rand({4, 4}, kDouble));
  output.sum().backward({}, /*retain_graph=*/true);
  CHECK(contains(error_text<levin::Error>([&] { output.sum().backward(); }), "ran through this batch before"));
}

TEST_CASE("stages are children named by their number") {
  Parts parts;
  const Pipeline net = parts.pipeline(2);
  CHECK(net->named_parameters().contains("0.0.weight"));
  CHECK(net->named_parameters().contains("2.0.bias"));
  CHECK(net->stages().size() == 3);
}
