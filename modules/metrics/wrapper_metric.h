#pragma once
#include <levin/modules/metrics/metric.h>

#include <memory>
#include <string>
#include <vector>

namespace levin::metrics {

/// The base class of metrics that are computed from other metrics, their parts. All states are those of the parts, and
/// what a class adds to `state_dict`.
class WrapperMetric : public Metric {
 public:
  WrapperMetric(const WrapperMetric& other);
  WrapperMetric& operator=(const WrapperMetric& other);
  WrapperMetric(WrapperMetric&&) = default;
  WrapperMetric& operator=(WrapperMetric&&) = default;

  void reset() override;
  void sync(Comm& comm) override;
  void unsync() override;
  State state_dict() const override;
  void load_state_dict(const State& state) override;
  void prepend_state_dict(const State& earlier) override;
  void to(c10::Device device) override;

  /// Returns what each element of `compute()` is, such as "max"; empty if there is one element.
  virtual std::vector<std::string> value_names() const { return {}; }
  /// Makes the metric draw other random numbers from now on than those with another number, which is that of the rank
  /// and the epoch. A metric that has this number already continues.
  virtual void use_stream(int64_t stream);

 protected:
  /// Takes copies of `metric`. Throws levin::UsageError if there is none; `wrapper` is the name for error messages.
  WrapperMetric(const char* wrapper, const std::shared_ptr<Metric>& metric, int64_t copies = 1);

  std::vector<std::shared_ptr<Metric>> parts = {};  ///< one at least, not null
};

}  // namespace levin::metrics
