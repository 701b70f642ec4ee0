#include <levin/modules/transformers/causal_lm.h>
#include <torch/types.h>

#include "tests/catch.h"
#include "tests/modules/transformers/small_folder.h"

using levin::Batch;
using levin::nn::CausalLM;

namespace {

constexpr int64_t kTime = 9;

/// Rows of 9, 5 and 2 tokens, with the padding at the end or at the beginning.
Batch padded(bool at_end) {
  torch::manual_seed(4);
  const at::Tensor tokens = torch::randint(4, 13, {3, kTime}), mask = torch::ones({3, kTime}, torch::kLong);
  for (int64_t row = 0; const int64_t length : {9, 5, 2})
    mask.select(0, row++).narrow(0, at_end ? length : 0, kTime - length).zero_();
  at::Tensor target = tokens.roll(-1, 1).masked_fill(mask.eq(0), -100);
  Batch batch(tokens.masked_fill(mask.eq(0), 3), target);
  batch.set("attention_mask", mask);
  return batch;
}

}  // namespace

TEST_CASE("padding at the end needs no mask: losses and gradients are those with it") {
  const SmallFolder folder("llama");
  CausalLM module({.folder = folder.path()});
  const Batch given = padded(/*at_end=*/true), moved = module.on_before_batch_transfer(given, 0);
  CHECK_FALSE(moved.contains("attention_mask"));
  CHECK(moved["lengths"].equal(torch::tensor({9, 5, 2})));
  std::vector<at::Tensor> gradients;
  std::vector<double> losses;
  for (const Batch& batch : {given, moved}) {
    module.zero_grad();
    const at::Tensor loss = module.loss(batch.input(), batch.target(), CausalLM::inputs_of(batch));
    loss.backward();
    losses.push_back(loss.item<double>());
    gradients.push_back(module.parameters().back().grad().clone());
  }
  CHECK(losses[0] == Approx(losses[1]).epsilon(1e-6));
  CHECK(torch::allclose(gradients[0], gradients[1], 1e-5, 1e-7));
}

TEST_CASE("padding at the beginning keeps its mask") {
  const SmallFolder folder("llama");
  CausalLM module({.folder = folder.path()});
  CHECK(module.on_before_batch_transfer(padded(/*at_end=*/false), 0).contains("attention_mask"));
}

TEST_CASE("a prediction follows the last token that is no padding") {
  const SmallFolder folder("llama");
  CausalLM module({.folder = folder.path()});
  module.eval();
  const at::NoGradGuard no_grad;
  const Batch given = padded(/*at_end=*/true), moved = module.on_before_batch_transfer(given, 0);
  for (const Batch& batch : {given, moved}) {
    const at::Tensor predicted = module.predict_step(batch, 0).input();
    for (int64_t row = 0; const int64_t length : {9, 5, 2}) {
      const at::Tensor alone = given.input().narrow(0, row, 1).narrow(1, 0, length);
      CHECK(torch::allclose(predicted[row++], module.forward(alone)[0][length - 1].softmax(0), 1e-5, 1e-7));
    }
  }
}
