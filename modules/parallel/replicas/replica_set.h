#pragma once
#include <c10/core/Device.h>
#include <levin/modules/parallel/replicas/replica_state.h>
#include <torch/nn/module.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace levin::parallel {

/// A module and its copies on other devices. Copies are made at the first forward that needs them and kept.
class ReplicaSet {
 public:
  /// Replica 0 is `original` itself, on `devices[0]`. Throws levin::UsageError for devices that do not exist.
  ReplicaSet(std::shared_ptr<torch::nn::Module> original, const std::vector<c10::Device>& devices, bool share_memory);

  const std::vector<c10::Device>& devices() const { return devices_; }
  torch::nn::Module& operator[](size_t index) { return index == 0 ? *original_ : *copies_[index - 1]; }

  /// One forward. A concurrent second one throws levin::Error, since both would use the same replicas.
  class Forward {
   public:
    /// Updates the first `count` replicas from the original. Throws levin::UsageError if the original is not on
    /// devices[0].
    Forward(ReplicaSet& set, size_t count);
    ~Forward() { set_.busy_ = false; }
    Forward(const Forward&) = delete;
    Forward& operator=(const Forward&) = delete;
    /// Merges the buffers after the replicas computed `sizes[i]` samples each.
    void finish(const std::vector<int64_t>& sizes);

   private:
    void prepare(size_t count);
    ReplicaSet& set_;
  };

 private:
  void make_copies();
  void check_place(const std::string& name, const at::Tensor& tensor) const;

  std::shared_ptr<torch::nn::Module> original_;
  std::vector<c10::Device> devices_;
  bool share_memory_;
  std::vector<std::shared_ptr<torch::nn::Module>> copies_ = {};
  std::unique_ptr<ReplicaState> state_ = {};
  std::atomic<bool> busy_ = false;
};

}  // namespace levin::parallel
