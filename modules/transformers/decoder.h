#pragma once
#include <levin/modules/parallel/tensor/vocabulary_embedding.h>
#include <levin/modules/transformers/decoder_block.h>
#include <levin/modules/transformers/decoder_config.h>
#include <torch/nn/modules/embedding.h>

#include <memory>
#include <vector>

namespace levin::nn {

/// What a decoder is told of its tokens besides their numbers. Tensors are on the decoder's device, or are moved there.
struct DecoderInputs {
  at::Tensor attention_mask = {};  ///< [batch, time], of all tokens with those in the cache: 0 for padding
  /// [batch or 1, time], int64; unset: counted from 0, after those in the cache. Without an attention mask and a cache,
  /// a position that does not follow the one before it begins another sequence ("packing").
  at::Tensor position_ids = {};
  KeyValueCache* cache = nullptr;
};

/// A decoder-only transformer without its head, from tokens to hidden states, in the parts and under the names of its
/// family. The weights are undefined until they are loaded. Its layers can be divided among the ranks of a tensor group
/// (parallel::divide_module); all ranks then call it with the same tokens.
class Decoder : public torch::nn::Module {
 public:
  explicit Decoder(const DecoderConfig& config);

  /// Maps `tokens` [batch, time], int64 or int32, to the normalized hidden states [batch, time, hidden]. Throws
  /// levin::UsageError for other shapes and dtypes, for a token outside the vocabulary and a position outside the table
  /// of positions; the last two on the CPU alone.
  at::Tensor forward(const at::Tensor& tokens, const DecoderInputs& inputs = {});

  const DecoderConfig config;
  parallel::VocabularyEmbedding embedding{nullptr};

 private:
  void check(const at::Tensor& tokens, const DecoderInputs& inputs) const;
  at::Tensor embedded(const at::Tensor& tokens, const at::Tensor& positions);
  DecoderContext context_of(const at::Tensor& positions, const DecoderInputs& inputs, const at::Tensor& x);

  torch::nn::Embedding positions_{nullptr};
  std::vector<std::shared_ptr<DecoderBlock>> blocks_ = {};
  DecoderNorm final_norm_{nullptr};
  std::vector<RotaryEmbedding> ropes_ = {};
};

}  // namespace levin::nn
