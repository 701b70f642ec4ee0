#pragma once
#include <ATen/core/Tensor.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace torch::nn {
class Module;
}

namespace levin {

class WeightsPublisher;

/// A copy of a module's parameters and buffers as they were between two steps. While the object lives, nobody writes to
/// the tensors. Empty before the first publication.
class PublishedWeights {
 public:
  using Tensors = std::vector<std::pair<std::string, at::Tensor>>;

  PublishedWeights() = default;
  PublishedWeights(PublishedWeights&& other) noexcept = default;
  PublishedWeights& operator=(PublishedWeights&& other) noexcept;
  ~PublishedWeights();

  bool empty() const { return publisher_ == nullptr; }
  /// The optimizer steps after which the weights were copied. The object must not be empty.
  int64_t global_step() const;
  /// Returns the tensors on the training device by their names in a state dict; they are not to be written to. The
  /// object must not be empty.
  const Tensors& tensors() const;
  /// Returns the tensor of this name. Throws levin::UsageError if there is none.
  const at::Tensor& operator[](const std::string& name) const;
  /// Copies the weights into a module of the same class. Throws levin::UsageError if a name or a shape differs; the
  /// module is then unchanged.
  void copy_to(torch::nn::Module& module) const;

 private:
  friend class WeightsPublisher;
  PublishedWeights(std::shared_ptr<const WeightsPublisher> publisher, size_t slot)
      : publisher_(std::move(publisher)), slot_(slot) {}

  std::shared_ptr<const WeightsPublisher> publisher_ = {};
  size_t slot_ = 0;
};

/// Hands copies of a module's weights from the thread that trains to any number of readers. The memory of a copy is
/// reused once no reader has it.
class WeightsPublisher : public std::enable_shared_from_this<WeightsPublisher> {
 public:
  /// Copies the module's parameters and buffers and makes them the newest. One thread calls it. Throws
  /// levin::UsageError if readers keep 63 copies.
  void publish(const torch::nn::Module& module, int64_t global_step);
  /// Returns the newest copy, or an empty object before the first. Wait-free; any thread may call it.
  PublishedWeights newest() const;

 private:
  friend class PublishedWeights;

  struct Slot {
    PublishedWeights::Tensors tensors = {};
    int64_t global_step = 0;
    uint64_t taken = 0;                            ///< how often readers took it; known once it is not the newest
    mutable std::atomic<uint64_t> given_back = 0;  ///< how often readers gave it back
  };
  static constexpr size_t kSlots = 64;
  static constexpr int kSlotBits = 48;  ///< of newest_: above them the slot's number plus 1, below them `taken`

  size_t free_slot() const;

  std::array<Slot, kSlots> slots_ = {};
  mutable std::atomic<uint64_t> newest_ = 0;
};

}  // namespace levin
