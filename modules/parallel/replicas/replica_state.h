#pragma once
#include <c10/core/Device.h>
#include <levin/modules/parallel/replicas/paired_tensors.h>
#include <torch/nn/module.h>

#include <memory>
#include <utility>
#include <vector>

namespace levin::parallel {

/// Keeps replicas of a module in sync with the original: parameters, buffers and modes, and routes their gradients to
/// the original.
///
/// The replicas have the original's structure, made by clone() or by the factory of make_module, and are kept from step
/// to step. The calls around each forward: `refresh`, `attach`, the forward itself, `merge_buffers`. The original and
/// the replicas must outlive this object; parameters registered later are ignored.
class ReplicaState {
 public:
  /// `replicas[i]` computes on `devices[i]`; the original stays where it is and may itself be one of the computing
  /// replicas. With `share_memory`, parameters of replicas on the original's device (CPUs) share its memory. Throws
  /// levin::UsageError that names the first tensor that differs if the structures differ.
  ReplicaState(torch::nn::Module& original, const std::vector<torch::nn::Module*>& replicas,
               std::vector<c10::Device> devices, bool share_memory = true);

  /// Copies the parameters and buffers that changed (by version counter, or moved by `to()` or `set_data`) to the
  /// replicas, in one flat transfer per device and dtype, and the train and eval modes.
  void refresh();
  /// Makes the next refresh copy all parameters, because they may have been changed without incrementing version
  /// counters (torch::optim::SGD writes through `.data()`).
  void expect_changes() { expect_changes_ = true; }
  /// Makes the next backward add the gradients of the first `replicas` replicas to the original's; see
  /// attach_gradients. A no-op if gradients are disabled.
  void attach(size_t replicas);
  /// Call it after a forward of the original and of the first replicas: floating-point buffers that changed
  /// (BatchNorm's running statistics) become the mean over all, weighted by `weights` (samples, the original's first);
  /// other buffers keep the original's value.
  void merge_buffers(const std::vector<double>& weights);

  /// Returns the original's parameters and buffers, without duplicates.
  const PairedTensors& parameters() const { return parameters_; }
  const PairedTensors& buffers() const { return buffers_; }

 private:
  void copy_modes() const;

  PairedTensors parameters_;
  PairedTensors buffers_;
  std::vector<std::pair<torch::nn::Module*, torch::nn::Module*>> modules_ = {};  ///< original and replica, outer first
  bool share_memory_;
  bool expect_changes_ = false;
};

}  // namespace levin::parallel
