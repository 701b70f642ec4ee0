#include <levin/modules/activation_checkpoint.h>
#include <levin/modules/autocast.h>
#include <levin/modules/nn/gpt.h>
#include <torch/torch.h>

#include "tests/catch.h"

using levin::checkpoint;

namespace {

/// Returns the gradients of all parameters after one forward and backward, with random numbers of seed 4.
std::vector<torch::Tensor> gradients_of(levin::nn::GPT& net, const torch::Tensor& tokens, bool checkpointing) {
  levin::set_checkpoint_activations(*net, checkpointing);
  net->zero_grad();
  torch::manual_seed(4);
  net->forward(tokens).pow(2).mean().backward();
  std::vector<torch::Tensor> gradients;
  for (const auto& parameter : net->parameters()) gradients.push_back(parameter.grad().clone());
  // Checkpointing does not change the random numbers after it.
  gradients.push_back(torch::rand({3}));
  return gradients;
}

void check_equal(const std::vector<torch::Tensor>& a, const std::vector<torch::Tensor>& b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) CHECK(torch::equal(a[i], b[i]));
}

}  // namespace

TEST_CASE("checkpointed blocks give the same gradients to the bit, dropout included") {
  torch::manual_seed(1);
  levin::nn::GPT net(levin::nn::GPTOptions{
      .vocab_size = 11, .block_size = 8, .layers = 3, .heads = 2, .embedding = 16, .dropout = 0.2});
  CHECK(levin::set_checkpoint_activations(*net, true) == 3);
  const auto tokens = torch::randint(11, {4, 8}, torch::kLong);
  check_equal(gradients_of(net, tokens, true), gradients_of(net, tokens, false));
  SECTION("also in autocast, which is over when backward runs") {
    const auto in_autocast = [&](bool checkpointing) {
      levin::set_checkpoint_activations(*net, checkpointing);
      net->zero_grad();
      torch::manual_seed(4);
      torch::Tensor loss;
      {
        const levin::Autocast autocast(at::kCPU, at::kBFloat16);
        loss = net->forward(tokens).pow(2).mean();
      }
      loss.backward();
      std::vector<torch::Tensor> gradients;
      for (const auto& parameter : net->parameters()) gradients.push_back(parameter.grad().clone());
      return gradients;
    };
    check_equal(in_autocast(true), in_autocast(false));
  }
}

TEST_CASE("activations are freed after the forward pass, and computed again in backward") {
  int runs = 0;
  c10::weak_intrusive_ptr<c10::TensorImpl> activation(torch::zeros({1}).getIntrusivePtr());
  const auto weight = torch::full({3}, 2.0, torch::requires_grad());
  const auto part = [&](const torch::Tensor& x) {
    ++runs;
    const torch::Tensor hidden = (x * weight).tanh();
    activation = c10::weak_intrusive_ptr<c10::TensorImpl>(hidden.getIntrusivePtr());
    return hidden * hidden;
  };
  const auto x = torch::rand({3});  // requires no gradient: the weight's is computed all the same
  const torch::Tensor y = checkpoint(part, x);
  CHECK(runs == 1);
  CHECK(activation.expired());
  y.sum().backward();
  CHECK(runs == 2);
  const auto expected = torch::autograd::grad({part(x).sum()}, {weight})[0];
  CHECK(torch::equal(weight.grad(), expected));
  const torch::Tensor plain = part(x);
  CHECK_FALSE(activation.expired());
}

TEST_CASE("a checkpointed block gives gradients to its inputs, and is a plain call without gradients") {
  const auto a = torch::rand({2}, torch::requires_grad()), b = torch::rand({2}, torch::requires_grad());
  const auto both = [](const std::vector<torch::Tensor>& in) {
    return std::vector<torch::Tensor>{in[0] * in[1], in[0].exp()};
  };
  const auto outputs = checkpoint(both, {a, b});
  outputs[0].sum().backward();
  CHECK(torch::equal(a.grad(), b.detach()));
  CHECK(torch::equal(b.grad(), a.detach()));
  const torch::NoGradGuard no_grad;
  CHECK_FALSE(checkpoint(both, {a, b})[0].requires_grad());
}
