#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/metrics/metric.h>

#include <optional>

namespace levin::metrics {

/// Arguments of Perplexity, with torchmetrics' names and defaults.
struct PerplexityOptions {
  std::optional<int64_t> ignore_index = LEVIN_OPTION(ignore_index, {}, "Targets of this value are not counted");
};

/// exp of the mean negative log likelihood of the target tokens.
///
/// `update` takes preds [batch, length, vocabulary], floating: logits or log probabilities; and target [batch, length],
/// integers. compute: a scalar, NaN if no token was counted.
/// Source: https://lightning.ai/docs/torchmetrics/stable/text/perplexity.html
class Perplexity final : public Cloneable<Perplexity> {
 public:
  using Options = PerplexityOptions;
  explicit Perplexity(Options options = {});

 private:
  void update_states(const at::Tensor& preds, const at::Tensor& target) override;
  at::Tensor compute_value() const override;

  Options options_;
  size_t total_, count_;
};

}  // namespace levin::metrics
