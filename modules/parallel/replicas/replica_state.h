#pragma once
#include <c10/core/Device.h>
#include <levin/modules/parallel/replicas/paired_tensors.h>
#include <torch/nn/module.h>

#include <memory>
#include <utility>
#include <vector>

namespace levin::parallel {

/// Keeps replicas of a module like the original: parameters, buffers, modes, and the way of their gradients.
///
/// The replicas have the original's structure, whoever made them (clone(), or the factory of make_module), and are kept
/// from step to step. Around each forward: `refresh`, `attach`, the forward itself, `merge_buffers`. The original and
/// the replicas must outlive this; parameters registered later are not seen.
class ReplicaState {
 public:
  /// `replicas[i]` computes on `devices[i]`; the original stays where it is, and may be a replica of its own.
  /// With `share_memory`, parameters of replicas on the original's device (CPUs) are its own memory, and no copies.
  /// Throws levin::UsageError, naming the first tensor that differs, where the structures do.
  ReplicaState(torch::nn::Module& original, const std::vector<torch::nn::Module*>& replicas,
               std::vector<c10::Device> devices, bool share_memory = true);

  /// Gives the replicas the values of parameters and buffers that changed (by their version counters, or moved by
  /// `to()` or `set_data`), as one flat transfer for each device and dtype, and the train and eval modes.
  void refresh();
  /// Says that parameters may have been changed in ways that count no versions (torch::optim::SGD writes through
  /// `.data()`): the next refresh copies all of them.
  void expect_changes() { expect_changes_ = true; }
  /// Lets the next backward add the gradients of the first `replicas` into the original's; see attach_gradients. Where
  /// gradients are off it does nothing.
  void attach(size_t replicas);
  /// After a forward of the original and of the first replicas: floating-point buffers that it changed (BatchNorm's
  /// running statistics) become the mean over all, weighted by `weights` (samples, the original's first); of others the
  /// original's count.
  void merge_buffers(const std::vector<double>& weights);

  /// The original's parameters and buffers, each once.
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
