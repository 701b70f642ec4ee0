// A CausalLM that ranks hold parts of trains as in one process.
#include <levin/core/device/own_generator.h>

#include "tests/modules/parallel/tensor/tensor_ranks.h"
#include "tests/modules/transformers/small_folder.h"

using levin::nn::CausalLM;

namespace {

Tensor tokens_of(int64_t step) {
  return torch::randint(13, {3, 7}, at::detail::createCPUGenerator(static_cast<uint64_t>(step)), torch::kLong);
}

struct Trained {
  std::vector<double> losses = {};
  Tensor logits = {}, generated = {};
};

Trained train(CausalLM& model, bool checkpointing) {
  levin::set_checkpoint_activations(model, checkpointing);
  levin::optim::AdamW optimizer(model.parameters(), {.lr = 0.01});
  Trained trained;
  for (int64_t step = 0; step < 4; ++step) {
    const Tensor tokens = tokens_of(step);
    Tensor target = tokens.roll(-1, 1);
    target.select(1, 0).fill_(-100);
    optimizer.zero_grad();
    const Tensor loss = model.loss(tokens, target);
    loss.backward();
    optimizer.step();
    trained.losses.push_back(loss.item<double>());
  }
  model.eval();
  const at::NoGradGuard no_grad;
  trained.logits = model.forward(tokens_of(100));
  trained.generated = model.generate(tokens_of(101).narrow(1, 0, 2), 4, {.temperature = 0});
  return trained;
}

void trains_as_whole(const std::string& folder, bool checkpointing, int64_t block_size, const TensorGroup& group) {
  CausalLM whole({.folder = folder}), parts({.folder = folder, .cross_entropy_block_size = block_size});
  for (CausalLM* const model : {&whole, &parts}) model->to(torch::kDouble);
  levin::parallel::divide_module(parts, group);
  const levin::GeneratorScope of_whole(at::detail::createCPUGenerator(6));
  const Trained expected = train(whole, checkpointing);
  const levin::GeneratorScope of_parts(at::detail::createCPUGenerator(6));
  const Trained got = train(parts, checkpointing);
  for (size_t i = 0; i < expected.losses.size(); ++i) holds(std::abs(got.losses[i] - expected.losses[i]) < 1e-8);
  holds(difference(got.logits, expected.logits) < 1e-8);
  holds(got.generated.equal(expected.generated));
  const TemporaryFolder saved;
  parts.save_pretrained(saved.path());
  holds(std::filesystem::exists(saved / "model.safetensors") == (group->rank() == 0));
  if (group->rank() == 0) {
    CausalLM again({.folder = saved.path().string(), .dtype = "file"});
    again.eval();
    const at::NoGradGuard no_grad;
    holds(difference(again.forward(tokens_of(100)), expected.logits) < 1e-8);
  }
  levin::parallel::join_module(parts);
  const auto weights = whole.named_parameters();
  for (const auto& item : parts.named_parameters())
    holds(difference(item.value().detach(), weights[item.key()].detach()) < 1e-8);
}

struct RankedCase {
  std::string family = {};
  Json changes = Json::object();
  int64_t ranks = 2;
  bool checkpointing = false;
  int64_t block_size = 0;
};

}  // namespace

TEST_CASE("a causal language model on tensor-parallel ranks trains as one process does") {
  const std::vector<RankedCase> cases = {
      {.family = "llama",
       .changes = {{"tie_word_embeddings", true}, {"attention_bias", true}, {"mlp_bias", true}},
       .block_size = 5},
      {.family = "qwen3", .changes = {{"num_key_value_heads", 4}, {"head_dim", 4}}, .ranks = 4, .checkpointing = true},
      {.family = "gemma2",
       .changes = {{"head_dim", 4}, {"sliding_window", 3}, {"attention_dropout", 0.2}},
       .block_size = 1},
      {.family = "gpt2", .changes = {{"attn_pdrop", 0.2}, {"resid_pdrop", 0.1}, {"embd_pdrop", 0.1}}},
      {.family = "gpt_neox", .changes = {{"hidden_size", 32}}, .ranks = 4},
      {.family = "phi", .changes = {{"hidden_size", 32}, {"qk_layernorm", true}}, .block_size = 20},
      {.family = "phi3", .changes = {{"num_key_value_heads", 4}}, .checkpointing = true}};
  for (const RankedCase& one : cases) {
    INFO(one.family);
    const SmallFolder folder(one.family, one.changes);
    on_ranks(one.ranks, [&](const TensorGroup& group) {
      trains_as_whole(folder.path(), one.checkpointing, one.block_size, group);
    });
  }
}

TEST_CASE("what the ranks cannot divide is refused, before anything is divided") {
  const auto refused_division = [](const std::string& family, int64_t ranks, const Json& changes = Json::object()) {
    const SmallFolder folder(family, changes);
    return error_text([&] {
      start_ranks(ranks, [&](const TensorGroup& group) {
        CausalLM model({.folder = folder.path()});
        levin::parallel::divide_module(model, group);
      });
    });
  };
  CHECK(contains(refused_division("llama", 4),
                 "4 tensor-parallel ranks do not divide 4 attention heads and 2 heads of keys"));
  CHECK(contains(refused_division("phi3", 2),
                 "the attention of phi3 with fewer heads of keys than of queries cannot be divided"));
  CHECK(contains(refused_division("olmo2", 2),
                 "the attention of olmo2, which normalizes all heads together, cannot be divided"));
}
