#include <levin/modules/summary.h>
#include <levin/modules/optim/optimizers/sgd.h>
#include <levin/modules/wrap.h>
#include <torch/torch.h>

#include "tests/catch.h"
#include "tests/error_text.h"

namespace nn = torch::nn;

TEST_CASE("a summary counts parameters and sees the outputs of layers that own some") {
  nn::Sequential net(nn::Conv2d(1, 4, 3), nn::ReLU(), nn::Flatten(),
                     nn::Linear(nn::LinearOptions(4 * 36, 5).bias(false)));
  net->parameters()[0].requires_grad_(false);
  bool was_training = true;
  const auto summary = levin::summarize(*net, /*max_depth=*/-1, [&] {
    was_training = net->is_training();
    CHECK_FALSE(torch::GradMode::is_enabled());
    net->forward(torch::zeros({2, 1, 8, 8}));
  });
  CHECK_FALSE(was_training);
  CHECK(net->is_training());
  REQUIRE(summary.layers.size() == 4);
  CHECK(summary.layers[0].name == "0");
  CHECK(summary.layers[0].type == "Conv2d");
  CHECK(summary.layers[0].parameters == 40);
  CHECK(summary.layers[0].trainable == 4);
  CHECK(summary.layers[0].output_shape == std::vector<int64_t>{2, 4, 6, 6});
  CHECK_FALSE(summary.layers[1].output_seen);
  CHECK(summary.layers[3].output_shape == std::vector<int64_t>{2, 5});
  CHECK(summary.parameters == 40 + 720);
  CHECK(summary.trainable == 4 + 720);
  CHECK(summary.bytes == 4 * 760);
  const std::string text = summary.to_text();
  CHECK(contains(text, "Conv2d"));
  CHECK(contains(text, "[2, 4, 6, 6]"));
  CHECK(contains(text, "760 parameters, 724 trainable, 0.003 MB with buffers"));
}

TEST_CASE("a summary shows the levels that are asked for, and counts shared parameters once") {
  nn::Linear shared(100, 100);
  struct Tied : nn::Module {
  } tied;
  tied.register_module("a", shared);
  tied.register_module("b", nn::Sequential(shared));
  const auto one_level = levin::summarize(tied);
  REQUIRE(one_level.layers.size() == 2);
  CHECK(one_level.layers[1].type == "Sequential");
  CHECK_FALSE(contains(one_level.to_text(), "Output shape"));
  CHECK(one_level.layers[0].parameters == 10100);
  CHECK(one_level.layers[1].parameters == 10100);
  CHECK(contains(one_level.to_text(), "10.1 K parameters, 10.1 K trainable"));
  CHECK(levin::summarize(tied, -1).layers.size() == 3);
  CHECK(levin::summarize(tied, 0).layers.empty());
}

TEST_CASE("a recurrent layer and an embedding have output shapes") {
  nn::Embedding embedding(10, 6);
  nn::LSTM lstm(nn::LSTMOptions(6, 7).batch_first(true));
  struct Both : nn::Module {
  } both;
  both.register_module("embedding", embedding);
  both.register_module("lstm", lstm);
  const auto summary =
      levin::summarize(both, 1, [&] { lstm->forward(embedding->forward(torch::zeros({3, 4}, torch::kLong))); });
  CHECK(summary.layers[0].output_shape == std::vector<int64_t>{3, 4, 6});
  CHECK(summary.layers[1].output_shape == std::vector<int64_t>{3, 4, 7});
}

TEST_CASE("a wrapped network keeps the caller's parameters") {
  nn::Linear net(2, 1);
  const auto module = levin::wrap(
      net, [](const torch::Tensor& output, const torch::Tensor& target) { return torch::mse_loss(output, target); },
      {.optimizer = {"SGD", levin::optim::SGDOptions{.lr = 0.5}}});
  CHECK(module->named_parameters().keys() == std::vector<std::string>{"net.weight", "net.bias"});
  CHECK(module->parameters()[0].is_same(net->weight));
  CHECK(module->configure_optimizers().entries[0].optimizer->param_groups()[0].options().get_lr() == 0.5);
  const levin::Batch batch(torch::ones({4, 2}));
  CHECK(module->predict_step(batch, 0).input().sizes() == torch::IntArrayRef{4, 1});
}
