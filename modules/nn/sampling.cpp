#include <levin/modules/nn/sampling.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/multinomial.h>
#include <ATen/ops/zeros_like.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <limits>
#include <tuple>

namespace levin::nn {
namespace {

/// Removes the unlikely tokens of `logits` [batch, tokens], which are sorted, the most likely first.
at::Tensor within_probability(const at::Tensor& logits, double top_p) {
  const at::Tensor probabilities = logits.softmax(1);
  const at::Tensor before = probabilities.cumsum(1) - probabilities;  // 0 for the most likely token, which stays
  return logits.masked_fill(before.ge(top_p), -std::numeric_limits<double>::infinity());
}

}  // namespace

void check_generation(const at::Tensor& prompt, const GenerateOptions& options) {
  if (prompt.dim() != 2 || prompt.size(1) == 0)
    throw UsageError("generate: expected a prompt [batch, time] of at least one token, got ", prompt.sizes());
  if (!(options.temperature >= 0)) throw UsageError("generate: temperature is at least 0, got ", options.temperature);
  if (options.top_k && *options.top_k < 1) throw UsageError("generate: top_k is at least 1, got ", *options.top_k);
  if (options.top_p && !(*options.top_p > 0 && *options.top_p <= 1))
    throw UsageError("generate: top_p is above 0 and at most 1, got ", *options.top_p);
}

at::Tensor draw_tokens(const at::Tensor& logits, const GenerateOptions& options) {
  if (options.temperature == 0) return logits.argmax(1, /*keepdim=*/true);
  const at::Tensor scaled = logits.to(at::kFloat).div(options.temperature);
  if (!options.top_k && !options.top_p)
    return at::multinomial(scaled.softmax(1), 1, /*replacement=*/false, options.generator);
  const auto [likeliest, tokens] = scaled.topk(std::min(options.top_k.value_or(scaled.size(1)), scaled.size(1)), 1);
  const at::Tensor kept = options.top_p ? within_probability(likeliest, *options.top_p) : likeliest;
  return tokens.gather(1, at::multinomial(kept.softmax(1), 1, /*replacement=*/false, options.generator));
}

RowEnds::RowEnds(const GenerateOptions& options) : stops_(options.stop_tokens.value_or(std::vector<int64_t>())) {
  if (!stops_.empty()) pad_ = options.pad_token.value_or(stops_.front());
}

at::Tensor RowEnds::padded(const at::Tensor& tokens) {
  if (stops_.empty()) return tokens;
  if (!ended_.defined()) ended_ = at::zeros_like(tokens, at::kBool);
  const at::Tensor next = tokens.masked_fill(ended_, pad_);
  for (const int64_t stop : stops_) ended_ = ended_.logical_or(next.eq(stop));
  return next;
}

bool RowEnds::all() const { return ended_.defined() && ended_.all().item<bool>(); }

}  // namespace levin::nn
