#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/metrics/engine/row_metric.h>

namespace levin::metrics {

/// Arguments of KLDivergence, with torchmetrics' names and defaults.
struct KLDivergenceOptions {
  bool log_prob = LEVIN_OPTION(log_prob, false, "Inputs are log probabilities; false: weights, which are normalised");
  Choice<RowReduction> reduction =
      LEVIN_OPTION(reduction, RowReduction::Mean, "How rows become one value; none: one value each");
};

/// The Kullback-Leibler divergence, the sum of p log(p / q), of each row of p from the row of q.
///
/// `update` takes p and q [batch, values], floating. Result: see RowMetric.
/// Source: https://lightning.ai/docs/torchmetrics/stable/regression/kl_divergence.html
class KLDivergence final : public Cloneable<KLDivergence, RowMetric> {
 public:
  using Options = KLDivergenceOptions;
  /// Throws levin::UsageError for bad options.
  explicit KLDivergence(Options options = {});

 private:
  void update_states(const at::Tensor& p, const at::Tensor& q) override;

  bool log_prob_;
};

}  // namespace levin::metrics
