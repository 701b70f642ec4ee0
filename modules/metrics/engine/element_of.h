#pragma once
#include <levin/modules/metrics/wrapper_metric.h>

#include <cstdint>
#include <memory>

namespace levin::metrics {

/// One element of another metric's value, as a scalar.
class ElementOf final : public Cloneable<ElementOf, WrapperMetric> {
 public:
  ElementOf(const std::shared_ptr<Metric>& metric, int64_t index) : Cloneable("ElementOf", metric), index_(index) {}

 private:
  void update_inputs(at::TensorList inputs) override { parts.front()->update_all(inputs); }
  at::Tensor compute_value() const override { return parts.front()->compute().flatten()[index_]; }

  int64_t index_;
};

}  // namespace levin::metrics
