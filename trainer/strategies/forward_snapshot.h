#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/run/logged_metric.h>
#include <levin/core/state/state.h>
#include <levin/modules/lightning_module.h>

#include <set>
#include <utility>
#include <vector>

namespace levin {

/// The state besides gradients that a forward pass changes: random numbers, the module's buffers, and metrics.
class ForwardSnapshot {
 public:
  /// `module` and `metrics` must outlive the snapshot.
  ForwardSnapshot(const LightningModule& module, const std::set<LoggedMetric*>& metrics);
  void restore() const;

 private:
  State rng_;
  std::vector<at::Tensor> buffers_, values_ = {};
  std::vector<std::pair<LoggedMetric*, State>> metrics_ = {};
};

}  // namespace levin
