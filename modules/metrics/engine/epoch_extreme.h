#pragma once
#include <levin/modules/metrics/wrapper_metric.h>

#include <limits>
#include <memory>
#include <optional>

namespace levin::metrics {

/// The largest or the smallest value of another metric at the end of an epoch, of all epochs so far. The value of an
/// epoch counts when `reset` ends it; one that is computed in its middle does not.
class EpochExtreme final : public Cloneable<EpochExtreme, WrapperMetric> {
 public:
  EpochExtreme(const std::shared_ptr<Metric>& metric, bool is_max)
      : Cloneable("MinMaxMetric", metric), is_max_(is_max) {}

  void reset() override;
  void sync(Comm& comm) override;
  State state_dict() const override;
  void load_state_dict(const State& state) override;
  void prepend_state_dict(const State& earlier) override;

  /// Returns the extreme of the epochs that have ended; infinite before the first one.
  double extreme() const { return extreme_; }
  /// Returns the value of the epoch in hand, if it was computed since the latest batch.
  const std::optional<double>& computed() const { return computed_; }
  void take(double value);

 private:
  void update_inputs(at::TensorList inputs) override;
  at::Tensor compute_value() const override;
  double better(double a, double b) const;

  bool is_max_;
  double extreme_ = is_max_ ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  mutable std::optional<double> computed_ = {};  ///< the value of this epoch, if no batch came since
};

}  // namespace levin::metrics
