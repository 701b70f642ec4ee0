#pragma once
#include <levin/modules/transformers/rotary_block.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace levin::nn {

/// The layers of ModernBERT, of which some attend to all tokens and others to those nearby, with the norms before and
/// behind them: from the embeddings of the tokens to the hidden states.
class RotaryLayers {
 public:
  /// Registers the parts in `encoder`.
  RotaryLayers(torch::nn::Module& encoder, const EncoderConfig& config);

  /// Maps `x` [batch, time, hidden] to the same shape. `attention_mask` [batch, time]: 0 for padding; undefined: there
  /// is none.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& attention_mask, bool is_training);

 private:
  /// The layers of one kind share the angles and the mask.
  struct Kind {
    RotaryEmbedding rope;
    std::optional<int64_t> reach;  ///< how far a token sees; unset: all
  };
  struct Layer {
    std::shared_ptr<RotaryBlock> block;
    bool is_local;
  };

  double embedding_dropout_;
  Kind full_, local_;
  EncoderNorm embedding_norm_{nullptr}, last_norm_{nullptr};
  std::vector<Layer> layers_ = {};
};

}  // namespace levin::nn
