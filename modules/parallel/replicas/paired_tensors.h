#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/util/intrusive_ptr.h>
#include <levin/modules/parallel/replicas/replica_gradients.h>
#include <torch/ordered_dict.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace levin::parallel {

/// Which memory a tensor had, and how often it had been changed in place.
class SeenTensor {
 public:
  /// Whether the memory is another than at the last `update`.
  bool is_elsewhere(const at::Tensor& tensor) const;
  /// Whether it was changed in place since; always so for inference tensors, which count no changes.
  bool is_changed(const at::Tensor& tensor) const;
  void update(const at::Tensor& tensor);

 private:
  c10::weak_intrusive_ptr<c10::StorageImpl> storage_{c10::intrusive_ptr<c10::StorageImpl>()};
  const void* data_ = nullptr;
  std::optional<uint32_t> version_ = {};
};

/// The parameters (or buffers) of a module, paired by name with those of its replicas.
///
/// A tensor registered under several names is one original; what stands for it in a replica may be one tensor or
/// several. Values are written without counting a change: a graph that is still to go backward has seen the same ones,
/// or else finds the change in the original.
class PairedTensors {
 public:
  using Named = torch::OrderedDict<std::string, at::Tensor>;
  enum class Kind { Parameter, Buffer };

  /// Throws levin::UsageError if names or shapes differ.
  PairedTensors(Kind kind, const Named& originals, const std::vector<Named>& replicas,
                std::vector<c10::Device> devices);

  const std::vector<at::Tensor>& originals() const { return originals_; }
  const std::vector<ReplicaTensors>& replicas() const { return replicas_; }
  /// What stands for an original in a replica; the first where there are several.
  const at::Tensor& replica_tensor(size_t replica, size_t original) const {
    return replicas_[replica][first_of_[replica][original]].first;
  }
  const std::string& name(size_t original) const { return names_[original]; }

  /// Gives the replicas the values of the originals that changed since the last call, or of `all` of them, by one
  /// transfer for each device and dtype. Replicas on the originals' device see their memory instead, where `share` is
  /// set.
  void refresh(bool share, bool all);
  /// The originals that a forward changed in place on itself or on one of the first `replicas`; with `statistics` also
  /// those that it may have changed without counting it.
  std::vector<size_t> changed_since_refresh(size_t replicas, bool statistics) const;

 private:
  void refresh_replica(size_t replica, bool share, const std::vector<bool>& elsewhere,
                       const std::vector<bool>& changed);
  /// Whether batch_norm may change it without counting.
  bool may_be_statistics(size_t original) const;

  Kind kind_;
  std::vector<std::string> names_ = {};
  std::vector<at::Tensor> originals_ = {};
  std::vector<SeenTensor> seen_ = {};
  std::vector<ReplicaTensors> replicas_ = {};
  std::vector<std::vector<SeenTensor>> replicas_seen_ = {};
  std::vector<std::vector<size_t>> first_of_ = {};  ///< for each replica and original, an index of replicas_
  std::vector<c10::Device> devices_ = {};
};

}  // namespace levin::parallel
