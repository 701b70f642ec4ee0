#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/lightning_module.h>
#include <levin/trainer/core/logged_metric.h>
#include <levin/trainer/core/state.h>

#include <set>
#include <utility>
#include <vector>

namespace levin {

/// What a forward pass changes beside the gradients: random numbers, the module's buffers, and metrics.
class ForwardSnapshot {
 public:
  /// All of them must outlive the snapshot.
  ForwardSnapshot(const LightningModule& module, const std::set<LoggedMetric*>& metrics);
  void restore() const;

 private:
  State rng_;
  std::vector<at::Tensor> buffers_, values_ = {};
  std::vector<std::pair<LoggedMetric*, State>> metrics_ = {};
};

}  // namespace levin
