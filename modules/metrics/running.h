#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/metrics/wrapper_metric.h>

#include <cstdint>
#include <memory>

namespace levin::metrics {

/// Arguments of Running, with torchmetrics' names and defaults.
struct RunningOptions {
  int64_t window = LEVIN_OPTION(window, 5, "Latest batches that count", {.min = 1, .max = 10000});
};

/// The value of another metric over the latest `window` batches; over ranks, of the latest batches of each. Inputs and
/// result: those of the other metric.
/// Source: https://lightning.ai/docs/torchmetrics/stable/wrappers/running.html
class Running final : public Cloneable<Running, WrapperMetric> {
 public:
  using Options = RunningOptions;
  /// Takes copies of `metric`. Throws levin::UsageError for bad options.
  explicit Running(const Metric& metric, Options options = {}) : Running(metric.clone(), options) {}
  explicit Running(const std::shared_ptr<Metric>& metric, Options options = {});

  void reset() override;
  void sync(Comm& comm) override;
  void unsync() override;
  State state_dict() const override;
  void load_state_dict(const State& state) override;
  void prepend_state_dict(const State& earlier) override;

 private:
  void update_inputs(at::TensorList inputs) override;
  at::Tensor compute_value() const override;
  std::shared_ptr<Metric> joined() const;

  size_t used_ = 0;                        ///< batches in the window; those are the last parts, the newest at the end
  std::shared_ptr<Metric> of_ranks_ = {};  ///< between sync and unsync
};

}  // namespace levin::metrics
