#pragma once
#include <levin/trainer/core/options/option.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace levin::nn {

struct GPTOptions {
  int64_t vocab_size = LEVIN_OPTION(vocab_size, 256, "Number of different tokens; 256 for bytes", {.min = 1});
  int64_t block_size = LEVIN_OPTION(block_size, 128, "Longest sequence, in tokens", {.min = 1});
  int64_t layers = LEVIN_OPTION(layers, 4, "Transformer blocks", {.min = 1});
  int64_t heads = LEVIN_OPTION(heads, 4, "Attention heads of each block; embedding is a multiple of it", {.min = 1});
  int64_t embedding = LEVIN_OPTION(embedding, 128, "Numbers that stand for a token inside of the network", {.min = 1});
  double dropout = LEVIN_OPTION(dropout, 0, "Share of values set to zero in training", {.min = 0, .exclusive_max = 1});
  bool tied_head = LEVIN_OPTION(tied_head, true, "The last layer uses the weights of the token embedding");
};

/// A decoder-only transformer: computes, for each token of a sequence, the logits of the next token.
///
/// Each block consists of causal self-attention and a GELU network four times as wide, both with a LayerNorm before and
/// a residual connection; weights are drawn from N(0, 0.02), and for the last layer of each of these parts divided by
/// sqrt(2 layers).
/// Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners" (GPT-2).
class GPTImpl : public torch::nn::Module {
 public:
  /// Throws levin::UsageError for bad options, such as a number of heads that does not divide the embedding size.
  explicit GPTImpl(GPTOptions options = {});

  /// Maps `tokens` [batch, time], int64, to logits [batch, time, vocab_size]. Throws levin::UsageError if time exceeds
  /// block_size, and for a token outside the vocabulary. The latter is checked on the CPU only, since elsewhere the
  /// check needs a host sync; there the embedding fails with a device assertion.
  at::Tensor forward(const at::Tensor& tokens);

  GPTOptions options;
  torch::nn::Embedding token_embedding{nullptr}, position_embedding{nullptr};
  torch::nn::LayerNorm final_norm{nullptr};
  torch::nn::Linear head{nullptr};  ///< null if tied to the token embedding

 private:
  struct Block;
  void check(const at::Tensor& tokens) const;
  void initialize();

  std::vector<std::shared_ptr<Block>> blocks_ = {};
};
TORCH_MODULE(GPT);

}  // namespace levin::nn
