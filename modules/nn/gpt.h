#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/parallel/tensor/column_linear.h>
#include <levin/modules/parallel/tensor/tensor_parallel.h>
#include <levin/modules/parallel/tensor/vocabulary_embedding.h>
#include <torch/nn/modules/embedding.h>
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
///
/// Its layers can be divided among the ranks of a tensor group, by the constructor or by parallel::divide_module: each
/// rank has some of the attention heads, of the units of the GELU networks, and of the vocabulary. All ranks of the
/// group then call `forward` and `loss` with the same tokens, and draw the same random numbers outside of the
/// attention; inside, each head has the numbers that it has in one process, on the CPU.
/// Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners" (GPT-2).
class GPTImpl : public torch::nn::Module {
 public:
  /// Throws levin::UsageError for bad options, such as a number of heads that does not divide the embedding size. With
  /// a group, no more than one whole layer is there at a time, the initial values are the parts of those of one
  /// process, and all ranks of the group call the constructor; it also throws if the ranks do not divide the heads.
  explicit GPTImpl(GPTOptions options = {}, const parallel::TensorGroup& group = nullptr);

  /// Maps `tokens` [batch, time], int64, to logits [batch, time, vocab_size]. Throws levin::UsageError if time exceeds
  /// block_size, and for a token outside the vocabulary. The latter is checked on the CPU only, since elsewhere the
  /// check needs a host sync; there the embedding fails with a device assertion.
  at::Tensor forward(const at::Tensor& tokens);
  /// Returns the mean cross entropy of a token of `target` [batch, time], int64, of `tokens` [batch, time]. The logits
  /// of a divided vocabulary are not gathered. Throws as forward.
  at::Tensor loss(const at::Tensor& tokens, const at::Tensor& target);

  GPTOptions options;
  parallel::VocabularyEmbedding token_embedding{nullptr};
  torch::nn::Embedding position_embedding{nullptr};
  torch::nn::LayerNorm final_norm{nullptr};
  parallel::ColumnLinear head{nullptr};  ///< null if tied to the token embedding

 private:
  struct Block;
  void check(const at::Tensor& tokens) const;
  void initialize(const parallel::TensorGroup& group);
  /// Returns the logits of this rank's part of the vocabulary; all of them if it is not divided.
  at::Tensor own_logits(const at::Tensor& tokens);

  std::vector<std::shared_ptr<Block>> blocks_ = {};
};
TORCH_MODULE(GPT);

}  // namespace levin::nn
