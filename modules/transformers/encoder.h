#pragma once
#include <levin/modules/parallel/tensor/vocabulary_embedding.h>
#include <levin/modules/transformers/encoder_block.h>
#include <levin/modules/transformers/encoder_config.h>
#include <levin/modules/transformers/rotary_layers.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>

#include <memory>
#include <vector>

namespace levin::nn {

/// What an encoder is told of its tokens besides their numbers. Tensors are on the encoder's device, or are moved
/// there.
struct EncoderInputs {
  at::Tensor attention_mask = {};  ///< [batch, time]: 0 for padding; unset: there is none
  /// [batch, time], int64: 0 for the first text, 1 for the second; unset: 0. A model without two kinds does not read
  /// it.
  at::Tensor token_type_ids = {};
};

/// A bidirectional transformer without its head, from tokens to hidden states, in the parts and under the names of its
/// family. The weights are undefined until they are loaded. Its layers can be divided among the ranks of a tensor group
/// (parallel::divide_module); all ranks then call it with the same tokens.
class Encoder : public torch::nn::Module {
 public:
  explicit Encoder(const EncoderConfig& config);

  /// Maps `tokens` [batch, time], int64 or int32, to the hidden states [batch, time, hidden]. Those of padding mean
  /// nothing. Throws levin::UsageError for other shapes and dtypes, for more tokens than the model has positions, and
  /// for a token outside the vocabulary or another kind than it has; the last two on the CPU alone.
  at::Tensor forward(const at::Tensor& tokens, const EncoderInputs& inputs = {});

  const EncoderConfig config;
  parallel::VocabularyEmbedding embedding{nullptr};

 private:
  void check(const at::Tensor& tokens, const EncoderInputs& inputs) const;
  at::Tensor embedded(const at::Tensor& tokens, const EncoderInputs& inputs);
  AttentionMask mask_of(const at::Tensor& x, const EncoderInputs& inputs);

  torch::nn::Embedding positions_{nullptr}, token_types_{nullptr}, relative_positions_{nullptr};
  DecoderNorm embedding_norm_{nullptr};
  torch::nn::Linear projection_{nullptr};
  std::vector<std::shared_ptr<EncoderBlock>> blocks_ = {};
  std::unique_ptr<RotaryLayers> rotary_ = {};  ///< in place of all others
};

}  // namespace levin::nn
