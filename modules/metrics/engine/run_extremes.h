#pragma once
#include <levin/core/run/logged_metric.h>
#include <levin/modules/metrics/engine/epoch_extreme.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace levin::metrics {

/// The extremes of all epochs, which every checkpoint has: metrics are logged, and saved, inside an epoch only.
class RunExtremes final : public LoggedMetric {
 public:
  /// Says that a metric counts a batch, by a name; a new one gets what a checkpoint knew of it. `epoch` is the number
  /// of the epoch in hand, such as that of the validation.
  void counts(const std::string& key, const std::shared_ptr<Metric>& metric, int64_t epoch);

  at::Tensor compute() const override { return {}; }
  at::Tensor batch_value() const override { return {}; }
  void reset() override {}
  void to(c10::Device /*device*/) override {}
  void sync(Comm& /*comm*/) override {}
  void unsync() override {}
  State state_dict() const override;
  void prepend_state_dict(const State& earlier) override;

 private:
  /// What is saved of a metric. If its epoch had its last batch, no metric of the resumed run counts its value.
  struct Saved {
    double extreme = 0;
    std::optional<double> computed = {};  ///< the value of the epoch in hand
    int64_t epoch = 0;                    ///< its number
  };
  struct Added {
    std::shared_ptr<EpochExtreme> metric = {};
    int64_t epoch = 0;  ///< in hand
  };
  static State state_of(const Saved& saved);
  static void give(EpochExtreme& metric, const Saved& saved, int64_t epoch);

  std::map<std::string, Saved> loaded_ = {};
  std::map<std::string, Added> added_ = {};
};

}  // namespace levin::metrics
