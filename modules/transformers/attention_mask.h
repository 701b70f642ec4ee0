#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace levin::nn {

/// Which tokens a token attends to.
struct AttentionMask {
  /// [batch or 1, 1 or heads, 1 or queries, keys]: a bool, or a number that is added to the products of queries and
  /// keys; undefined: all are allowed, or those of `is_causal`.
  at::Tensor allowed = {};
  bool is_causal = false;  ///< all before it and itself
};

/// What masks are made from.
struct MaskedTokens {
  int64_t past = 0, time = 0;      ///< tokens in the cache, and new ones
  at::Tensor attention_mask = {};  ///< [batch, past + time]: 0 for padding; undefined: there is none
  /// [batch or 1, time], int64: where a position does not follow the one before, another sequence begins, to which no
  /// token of the first attends ("packing"). Undefined: one sequence.
  at::Tensor packed_positions = {};
  c10::Device device = c10::kCPU;
};

/// Makes the mask of the layers with this window. Padding attends to itself, so that no row is empty.
AttentionMask make_attention_mask(const MaskedTokens& tokens, std::optional<int64_t> window);

}  // namespace levin::nn
