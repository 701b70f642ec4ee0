#include <levin/modules/transformers/attention_mask.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/diff.h>

namespace levin::nn {
namespace {

/// Returns the number of each token's sequence, [batch or 1, time].
at::Tensor sequence_numbers(const at::Tensor& positions) {
  const at::Tensor before_first = positions.narrow(1, 0, 1) - 1;
  return at::diff(positions, 1, 1, /*prepend=*/before_first).ne(1).cumsum(1);
}

}  // namespace

AttentionMask make_attention_mask(const MaskedTokens& tokens, std::optional<int64_t> window) {
  const int64_t all = tokens.past + tokens.time;
  const bool slides = window && *window < all;
  if (!slides && !tokens.attention_mask.defined() && !tokens.packed_positions.defined()) {
    if (tokens.time == 1) return {};
    if (tokens.past == 0) return {.is_causal = true};
  }
  const at::TensorOptions options = at::TensorOptions().dtype(at::kLong).device(tokens.device);
  const at::Tensor keys = at::arange(all, options).unsqueeze(0);
  const at::Tensor queries = at::arange(tokens.past, all, options).unsqueeze(1);
  at::Tensor allowed = keys.le(queries);
  if (slides) allowed = allowed.logical_and(keys.gt(queries - *window));
  allowed = allowed.unsqueeze(0).unsqueeze(0);
  if (tokens.attention_mask.defined())
    allowed = allowed.logical_and(tokens.attention_mask.ne(0).unsqueeze(1).unsqueeze(1)).logical_or(keys.eq(queries));
  if (tokens.packed_positions.defined()) {
    const at::Tensor numbers = sequence_numbers(tokens.packed_positions);
    allowed = allowed.logical_and(numbers.unsqueeze(1).eq(numbers.unsqueeze(2)).unsqueeze(1));
  }
  return {.allowed = allowed};
}

}  // namespace levin::nn
