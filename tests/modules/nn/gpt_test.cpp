#include <levin/modules/nn/gpt.h>
#include <levin/modules/weights.h>
#include <torch/nn/functional/loss.h>
#include <torch/types.h>

#include <cmath>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/python_reference.h"
#include "tests/modules/small_training.h"
#include "tests/temporary_folder.h"

using levin::UsageError;
using levin::nn::GPT;
using levin::nn::GPTOptions;
using small_training::distance;
using small_training::flat;

namespace {

GPTOptions small(bool tied_head = true) {
  return {.vocab_size = 11, .block_size = 8, .layers = 2, .heads = 2, .embedding = 12, .tied_head = tied_head};
}

int64_t count_of(GPT& gpt) {
  int64_t count = 0;
  for (const auto& parameter : gpt->parameters()) count += parameter.numel();
  return count;
}

/// Embeddings, blocks and the last norm, as Radford et al. count them.
constexpr int64_t expected_count(int64_t vocabulary, int64_t block_size, int64_t layers, int64_t width) {
  const int64_t norm = 2 * width;
  const int64_t attention = 4 * width * width + 4 * width, mlp = 8 * width * width + 5 * width;
  return (vocabulary + block_size) * width + layers * (2 * norm + attention + mlp) + norm;
}
static_assert(expected_count(50257, 1024, 12, 768) == 124439808);  // GPT-2's

at::Tensor loss_of(const at::Tensor& logits, const at::Tensor& target) {
  return torch::nn::functional::cross_entropy(logits.flatten(0, 1), target.flatten());
}

at::Tensor some_tokens(int64_t batch, int64_t time, int64_t vocabulary) {
  return (torch::arange(batch * time) * 5 % vocabulary).reshape({batch, time});
}

}  // namespace

TEST_CASE("a GPT's state has these names, in this order") {
  std::vector<std::string> expected = {"token_embedding.weight", "position_embedding.weight"};
  for (const std::string block : {"blocks.0.", "blocks.1."}) {
    for (const char* name :
         {"attention_norm.weight", "attention_norm.bias", "attention.qkv.weight", "attention.qkv.bias",
          "attention.projection.weight", "attention.projection.bias", "mlp_norm.weight", "mlp_norm.bias",
          "mlp.expansion.weight", "mlp.expansion.bias", "mlp.projection.weight", "mlp.projection.bias"})
      expected.push_back(block + name);
  }
  expected.insert(expected.end(), {"final_norm.weight", "final_norm.bias"});
  const auto names = [](const GPT& gpt) {
    std::vector<std::string> list;
    for (const auto& [name, value] : levin::module_state_dict(*gpt).to_dict()) list.push_back(levin::to_text(name));
    return list;
  };
  CHECK(names(GPT(small())) == expected);
  expected.push_back("head.weight");
  CHECK(names(GPT(small(false))) == expected);
}

TEST_CASE("a GPT has as many parameters as GPT-2's rule says, and gives logits for every token") {
  GPT tied(small()), untied(small(false));
  CHECK(count_of(tied) == expected_count(11, 8, 2, 12));
  CHECK(count_of(untied) == expected_count(11, 8, 2, 12) + 11 * 12);
  for (GPT gpt : {tied, untied}) {
    CHECK(gpt->forward(some_tokens(3, 8, 11)).sizes() == std::vector<int64_t>{3, 8, 11});
    CHECK(gpt->forward(some_tokens(1, 1, 11)).sizes() == std::vector<int64_t>{1, 1, 11});
    CHECK(gpt->forward(some_tokens(2, 5, 11).to(torch::kInt)).sizes() == std::vector<int64_t>{2, 5, 11});
  }
}

TEST_CASE("a later token changes nothing before it, and everything from there on") {
  torch::manual_seed(1);
  GPT gpt(small());
  // The initial weights are so small that tokens hardly matter to each other.
  for (auto& parameter : gpt->parameters()) parameter.data().normal_(0, 0.3);
  const at::Tensor tokens = some_tokens(2, 8, 11);
  const at::Tensor before = gpt->forward(tokens);
  for (int64_t changed : {1, 4, 7}) {
    at::Tensor other = tokens.clone();
    other.select(1, changed).add_(1).remainder_(11);
    const at::Tensor difference = gpt->forward(other).sub(before).abs().amax(2);  // [batch, time]
    CHECK(difference.narrow(1, 0, changed).max().item<double>() == 0);
    CHECK(difference.narrow(1, changed, 8 - changed).min().item<double>() > 1e-6);
  }
}

TEST_CASE("a GPT starts with GPT-2's weights and knows nothing") {
  torch::manual_seed(2);
  GPT gpt(GPTOptions{.vocab_size = 200, .block_size = 64, .layers = 8, .heads = 4, .embedding = 128});
  for (const auto& item : gpt->named_parameters()) {
    INFO(item.key());
    const at::Tensor& value = item.value();
    const auto ends_with = [&](const char* end) { return item.key().ends_with(end); };
    const double mean = value.mean().item<double>(), stddev = value.std().item<double>();
    if (ends_with("bias")) {
      CHECK(value.abs().max().item<double>() == 0);
    } else if (ends_with("norm.weight")) {
      CHECK(value.sub(1).abs().max().item<double>() == 0);
    } else {
      CHECK(std::abs(mean) < 1e-3);
      const double expected = ends_with("projection.weight") ? 0.02 / 4 : 0.02;
      CHECK(std::abs(stddev / expected - 1) < 0.03);
    }
  }
  const at::Tensor tokens = torch::randint(200, {16, 65});
  const double loss = loss_of(gpt->forward(tokens.narrow(1, 0, 64)), tokens.narrow(1, 1, 64)).item<double>();
  CHECK(std::abs(loss - std::log(200.0)) < 0.1);
}

TEST_CASE("every parameter of a GPT gets a gradient") {
  for (const bool tied : {true, false}) {
    GPT gpt(small(tied));
    loss_of(gpt->forward(some_tokens(3, 8, 11)), some_tokens(3, 8, 11)).backward();
    for (const auto& item : gpt->named_parameters()) {
      INFO(item.key());
      REQUIRE(item.value().grad().defined());
      CHECK(item.value().grad().abs().max().item<double>() > 0);
    }
  }
}

TEST_CASE("dropout acts in training alone") {
  GPTOptions options = small();
  options.dropout = 0.5;
  GPT gpt(options);
  const at::Tensor tokens = some_tokens(2, 8, 11);
  CHECK(!gpt->forward(tokens).equal(gpt->forward(tokens)));
  gpt->eval();
  CHECK(gpt->forward(tokens).equal(gpt->forward(tokens)));
}

TEST_CASE("a GPT says what is wrong with its options and tokens") {
  const auto with = [](GPTOptions options) { return error_text<UsageError>([&] { GPT gpt(options); }); };
  CHECK(with({.heads = 3, .embedding = 64}) ==
        "model.heads: 3 heads do not divide an embedding of 64; set model.embedding to a multiple of model.heads");
  CHECK(contains(with({.layers = 0}), "model.layers"));
  CHECK(contains(with({.dropout = 1}), "model.dropout"));

  GPT gpt(small());
  const auto of = [&](const at::Tensor& tokens) { return error_text<UsageError>([&] { gpt->forward(tokens); }); };
  CHECK(of(torch::zeros({2, 9}, torch::kLong)) ==
        "GPT: a sequence of 9 tokens, but block_size is 8; set model.block_size to the data's longest sequence, or "
        "shorten those");
  CHECK(of(torch::full({1, 2}, 11)) ==
        "GPT: token id 11 is not in the vocabulary, 0 to 10; set model.vocab_size to the number of different tokens of "
        "the data");
  CHECK(contains(of(torch::tensor({{3, -1}})), "GPT: token id -1 is not in the vocabulary"));
  CHECK(of(torch::zeros({2, 3})) == "GPT: expected token ids [batch, time] of int64, got [2, 3] of Float");
  CHECK(of(torch::zeros({3}, torch::kLong)) == "GPT: expected token ids [batch, time] of int64, got [3] of Long");
}

TEST_CASE("a GPT computes and learns what the same network in Python does") {
  const TemporaryFolder folder;
  torch::manual_seed(3);
  std::vector<GPT> gpts = {GPT(small()), GPT(small(false))};
  auto cases = nlohmann::ordered_json::array();
  for (GPT& gpt : gpts) {
    for (auto& parameter : gpt->parameters()) parameter.data().normal_(0, 0.3);
    levin::save_weights(*gpt, folder / (std::to_string(cases.size()) + ".pt"));
    const GPTOptions& o = gpt->options;
    const nlohmann::ordered_json options = {{"vocab_size", o.vocab_size}, {"block_size", o.block_size},
                                            {"layers", o.layers},         {"heads", o.heads},
                                            {"embedding", o.embedding},   {"tied_head", o.tied_head}};
    cases.push_back(options);
  }
  const auto python = python_reference("gpt", cases, folder.path().string());
  if (!python) return;
  for (size_t i = 0; i < gpts.size(); ++i) {
    GPT& gpt = gpts[i];
    gpt->to(torch::kDouble);
    const at::Tensor tokens = some_tokens(3, 8, 11);
    const at::Tensor output = gpt->forward(tokens), loss = loss_of(output, (tokens + 1).remainder(11));
    loss.backward();
    for (auto& parameter : gpt->parameters()) parameter.data().sub_(parameter.grad(), 0.1);
    const auto& expected = python->at(i);
    CHECK(distance(flat({output}), flat(expected["output"])) < 1e-9);
    CHECK(std::abs(loss.item<double>() - expected["loss"].get<double>()) < 1e-9);
    CHECK(distance(flat({gpt->forward(tokens)}), flat(expected["after"])) < 1e-9);
    CHECK(distance(flat({output}), flat(expected["after"])) > 1e-3);
  }
}
