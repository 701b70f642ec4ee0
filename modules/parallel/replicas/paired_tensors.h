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

/// A record of a tensor's memory and version counter, to detect changes.
class SeenTensor {
 public:
  /// Returns whether the memory differs from that at the last `update`.
  bool is_elsewhere(const at::Tensor& tensor) const;
  /// Returns whether the tensor was changed in place since the last `update`; always true for inference tensors, which
  /// have no version counter.
  bool is_changed(const at::Tensor& tensor) const;
  void update(const at::Tensor& tensor);

 private:
  c10::weak_intrusive_ptr<c10::StorageImpl> storage_{c10::intrusive_ptr<c10::StorageImpl>()};
  const void* data_ = nullptr;
  std::optional<uint32_t> version_ = {};
};

/// The parameters (or buffers) of a module, paired by name with those of its replicas.
///
/// A tensor registered under several names is one original; its counterpart in a replica may be one tensor or several.
/// Values are written without incrementing version counters: a graph whose backward is still to come has either seen
/// the same values or detects the change in the original.
class PairedTensors {
 public:
  using Named = torch::OrderedDict<std::string, at::Tensor>;
  enum class Kind { Parameter, Buffer };

  /// Throws levin::UsageError if names or shapes differ.
  PairedTensors(Kind kind, const Named& originals, const std::vector<Named>& replicas,
                std::vector<c10::Device> devices);

  const std::vector<at::Tensor>& originals() const { return originals_; }
  const std::vector<ReplicaTensors>& replicas() const { return replicas_; }
  /// Returns the counterpart of an original in a replica; the first if there are several.
  const at::Tensor& replica_tensor(size_t replica, size_t original) const {
    return replicas_[replica][first_of_[replica][original]].first;
  }
  const std::string& name(size_t original) const { return names_[original]; }

  /// Copies the originals that changed since the last call (or all of them, if `all` is set) to the replicas, in one
  /// transfer per device and dtype. If `share` is set, replicas on the originals' device share their memory instead.
  void refresh(bool share, bool all);
  /// Returns the originals that a forward changed in place, in the original or in one of the first `replicas` replicas;
  /// with `statistics`, also those that it may have changed without incrementing a version counter.
  std::vector<size_t> changed_since_refresh(size_t replicas, bool statistics) const;

 private:
  void refresh_replica(size_t replica, bool share, const std::vector<bool>& elsewhere,
                       const std::vector<bool>& changed);
  /// Returns whether batch_norm may change the original without incrementing its version counter.
  bool may_be_statistics(size_t original) const;

  Kind kind_;
  std::vector<std::string> names_ = {};
  std::vector<at::Tensor> originals_ = {};
  std::vector<SeenTensor> seen_ = {};
  std::vector<ReplicaTensors> replicas_ = {};
  std::vector<std::vector<SeenTensor>> replicas_seen_ = {};
  std::vector<std::vector<size_t>> first_of_ = {};  ///< [replica][original]: an index into replicas_[replica]
  std::vector<c10::Device> devices_ = {};
};

}  // namespace levin::parallel
