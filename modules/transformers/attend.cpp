#include <levin/modules/transformers/attend.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>
#include <levin/modules/parallel/tensor/dropout_of_part.h>

#include <limits>

namespace levin::nn {
namespace {

/// Adds a mask of numbers, or excludes what a mask of bools does not allow.
at::Tensor masked_scores(const at::Tensor& scores, const AttentionMask& mask) {
  if (!mask.allowed.defined() && !mask.is_causal) return scores;
  if (mask.allowed.defined() && mask.allowed.is_floating_point()) return scores + mask.allowed;
  const int64_t time = scores.size(2), all = scores.size(3);
  const at::Tensor allowed =
      mask.allowed.defined() ? mask.allowed : at::ones({time, all}, scores.options().dtype(at::kBool)).tril(all - time);
  return scores.masked_fill(allowed.logical_not(), -std::numeric_limits<double>::infinity());
}

/// Caps the products, and draws the dropout for all heads, so that each has the numbers that one process draws for it.
at::Tensor attend_by_hand(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                          const AttentionMask& mask, const AttendOptions& options) {
  const int64_t shared = queries.size(1) / keys.size(1);
  const auto for_queries = [&](const at::Tensor& x) { return shared == 1 ? x : x.repeat_interleave(shared, 1); };
  at::Tensor scores = at::matmul(queries, for_queries(keys).transpose(2, 3)) * options.scale;
  if (options.softcap) scores = (scores / *options.softcap).tanh() * *options.softcap;
  scores = masked_scores(scores, mask);
  const bool is_wide = scores.scalar_type() == at::kDouble;
  at::Tensor weights = at::softmax(scores, -1, is_wide ? at::kDouble : at::kFloat).to(values.scalar_type());
  const double rate = options.dropout;
  if (rate > 0)
    weights = options.group != nullptr ? parallel::dropout_of_part(weights, 1, rate, options.group)
                                       : at::dropout(weights, rate, /*train=*/true);
  return at::matmul(weights, for_queries(values));
}

}  // namespace

at::Tensor attend(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                  const AttentionMask& mask, const AttendOptions& options) {
  if (options.softcap || (options.dropout > 0 && options.group != nullptr))
    return attend_by_hand(queries, keys, values, mask, options);
  const std::optional<at::Tensor> allowed =
      mask.allowed.defined() ? std::optional<at::Tensor>(mask.allowed) : std::nullopt;
  return at::scaled_dot_product_attention(queries, keys, values, allowed, options.dropout, mask.is_causal,
                                          options.scale, /*enable_gqa=*/queries.size(1) != keys.size(1));
}

}  // namespace levin::nn
