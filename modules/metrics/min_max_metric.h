#pragma once
#include <levin/modules/metrics/wrapper_metric.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace levin::metrics {

/// The value of another metric, and the largest and the smallest one that was computed so far, also before a reset.
///
/// `update` takes the inputs of the other metric, which has a single value. compute: float64 [3], the value, the
/// largest and the smallest. Each compute counts, so that a value of NaN changes neither of them.
/// Source: https://lightning.ai/docs/torchmetrics/stable/wrappers/min_max.html
class MinMaxMetric final : public Cloneable<MinMaxMetric, WrapperMetric> {
 public:
  /// Takes a copy of `metric`.
  explicit MinMaxMetric(const Metric& metric) : MinMaxMetric(metric.clone()) {}
  explicit MinMaxMetric(const std::shared_ptr<Metric>& metric) : Cloneable("MinMaxMetric", metric) {}

  State state_dict() const override;
  void load_state_dict(const State& state) override;
  void prepend_state_dict(const State& earlier) override;
  std::vector<std::string> value_names() const override { return {"raw", "max", "min"}; }

 private:
  void update_inputs(at::TensorList inputs) override { parts.front()->update_all(inputs); }
  at::Tensor compute_value() const override;

  mutable double min_ = std::numeric_limits<double>::infinity();
  mutable double max_ = -std::numeric_limits<double>::infinity();
};

}  // namespace levin::metrics
