// Language models on a GPU: their attention, their loss in blocks, and captured steps of them.
#include <ATen/Context.h>
#include <levin/modules/autocast.h>

#include "tests/gpu/language_model.h"

namespace {

/// Leaves scaled_dot_product_attention with flash attention, or with nothing, while it lives.
class FlashAlone {
 public:
  explicit FlashAlone(bool flash) { set(flash, false); }
  ~FlashAlone() { set(true, true); }
  FlashAlone(const FlashAlone&) = delete;
  FlashAlone& operator=(const FlashAlone&) = delete;

 private:
  static void set(bool flash, bool others) {
    at::Context& context = at::globalContext();
    context.setSDPUseFlash(flash);
    context.setSDPUseMath(others);
    context.setSDPUseMemEfficient(others);
    context.setSDPUseCuDNN(others);
  }
};

/// Trains one step of a model in bfloat16 autocast.
void train_one_step(const SmallFolder& folder) {
  levin::nn::CausalLM model({.folder = folder.path(), .cross_entropy_block_size = 512});
  model.to(kGpu);
  const torch::Tensor tokens = torch::randint(300, {2, 1024}, torch::kLong).to(kGpu);
  const levin::Autocast autocast(at::kCUDA, at::kBFloat16);
  model.loss(tokens, tokens.roll(-1, 1)).backward();
}

}  // namespace

TEST_CASE("heads of full size are computed by flash attention", "[precision]") {
  const SmallFolder gpt2("gpt2",
                         {{"vocab_size", 300}, {"n_embd", 768}, {"n_head", 12}, {"n_layer", 1}, {"n_positions", 1024}});
  const SmallFolder llama("llama", {{"vocab_size", 300},
                                    {"hidden_size", 1024},
                                    {"num_attention_heads", 16},
                                    {"num_key_value_heads", 4},
                                    {"num_hidden_layers", 1},
                                    {"max_position_embeddings", 1024}});
  for (const SmallFolder* const folder : {&gpt2, &llama}) {
    INFO(folder->config.dump());
    CHECK(error_text<std::exception>([&] {
            const FlashAlone alone(true);
            train_one_step(*folder);
          }) == "no error");
    CHECK(error_text<std::exception>([&] {
            const FlashAlone nothing(false);
            train_one_step(*folder);
          }) != "no error");
  }
}

TEST_CASE("a loss in blocks on a GPU trains as one of all logits on the CPU", "[training]") {
  const TemporaryFolder folder;
  const SmallFolder model("gpt2");
  const auto loader = token_loader(40, 4);
  const auto expected = train_language_model(on(folder, "cpu"), model, loader, 0);
  for (const int64_t block_size : {0, 5, 64})
    CHECK(largest_difference(train_language_model(on(folder, "gpu"), model, loader, block_size), expected) < 1e-3);
}

TEST_CASE("captured steps of a language model end as those that are not", "[graphs]") {
  const TemporaryFolder folder;
  const SmallFolder model("gpt2");
  const auto loader = token_loader(43, 4);  // the last batch is short
  for (const char* const precision : {"32-true", "bf16-mixed"})
    for (const int64_t block_size : {0, 24}) {
      INFO(precision << " " << block_size);
      levin::TrainerOptions options = single_steps(folder);
      options.precision = precision;
      const auto expected = train_language_model(options, model, loader, block_size);
      options.cuda_graphs = true;
      CHECK(largest_difference(train_language_model(options, model, loader, block_size), expected) < 1e-5);
    }
}
