#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace levin {

enum class ReduceOp { Sum, Mean, Min, Max };

/// The collectives of a run. All ranks make the same calls in the same order.
class Comm {
 public:
  virtual ~Comm() = default;

  virtual int64_t rank() const = 0;
  virtual int64_t world_size() const = 0;
  /// Returns the number of processes that make the calls: more than there are ranks if several processes compute the
  /// same batches (tensor parallelism), and are one rank.
  virtual int64_t processes() const { return world_size(); }
  /// Returns whether this process writes the files of its rank; one of its processes does.
  virtual bool stands_for_rank() const { return true; }
  /// Returns whether this process writes files and prints for all.
  bool is_global_zero() const { return rank() == 0 && stands_for_rank(); }
  /// Replaces `tensor` on each rank with the reduction over all ranks.
  virtual void all_reduce(at::Tensor& tensor, ReduceOp op) = 0;
  /// Replaces `tensor` on each rank with rank `source`'s tensor.
  virtual void broadcast(at::Tensor& tensor, int64_t source) = 0;
  /// Returns the tensors of all ranks, in rank order; shapes and dtypes must agree.
  virtual std::vector<at::Tensor> all_gather(const at::Tensor& tensor) = 0;
  virtual void barrier() = 0;

  /// Leaves a text for the other ranks. These two are no collectives: any thread may call them at any time.
  virtual void leave_note(const std::string& /*key*/, const std::string& /*text*/) {}
  /// Returns the text that a rank has left under `key`, and removes it; nullopt if there is none yet.
  virtual std::optional<std::string> take_note(const std::string& /*key*/) { return {}; }
};

/// The Comm of a run with one process; its collectives do nothing.
class SingleProcessComm final : public Comm {
 public:
  int64_t rank() const override { return 0; }
  int64_t world_size() const override { return 1; }
  void all_reduce(at::Tensor&, ReduceOp) override {}
  void broadcast(at::Tensor&, int64_t) override {}
  std::vector<at::Tensor> all_gather(const at::Tensor& tensor) override { return {tensor}; }
  void barrier() override {}
};

}  // namespace levin
