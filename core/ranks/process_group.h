#pragma once
#include <c10/core/Device.h>
#include <c10/util/intrusive_ptr.h>
#include <levin/core/ranks/comm.h>
#include <levin/core/ranks/process_group_backend.h>
#include <levin/core/ranks/rendezvous.h>
#include <levin/core/system/error.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace c10d {
class ProcessGroup;
class Work;
}  // namespace c10d

namespace levin {

/// A collective that failed because another rank did not take part, or no longer exists.
class LostRankError : public Error {
 public:
  using Error::Error;
};

/// A c10d process group: one process per rank.
///
/// All ranks make the same calls in the same order. A call that fails or does not end within the timeout throws
/// levin::LostRankError with the call and the rank.
class ProcessGroup final : public Comm {
 public:
  /// Meets the other ranks. `device` is this rank's device. Throws levin::UsageError if the other ranks cannot be
  /// reached within the timeout or the backend is not available.
  ProcessGroup(const Rendezvous& rendezvous, c10::Device device, std::chrono::milliseconds timeout,
               ProcessGroupBackend backend = ProcessGroupBackend::Auto);
  /// Returns a stub group of `world_size` ranks for dry runs, in which this process is rank 0: collectives return this
  /// rank's own tensors.
  static std::shared_ptr<ProcessGroup> of_absent_ranks(int64_t world_size, c10::Device device);
  /// Returns a group of these ranks of the group, in this order; this rank must be one of them. Its calls and this
  /// group's do not wait for each other. `name`: the same on the ranks of the new group, and another one for each
  /// group. Collective: all ranks of the new group call it.
  std::unique_ptr<ProcessGroup> subgroup(const std::string& name, const std::vector<int64_t>& ranks) const;
  /// Returns another number at each call, for names of subgroups: the same on all ranks if all make the same calls.
  int64_t next_number();
  ~ProcessGroup() override;
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  int64_t rank() const override { return rank_; }
  int64_t world_size() const override { return world_size_; }
  /// Returns the number of ranks whose tensors a collective combines: all, or 1 in a dry run.
  int64_t present_ranks() const;
  void all_reduce(at::Tensor& tensor, ReduceOp op) override;
  void broadcast(at::Tensor& tensor, int64_t source) override;
  std::vector<at::Tensor> all_gather(const at::Tensor& tensor) override;
  void barrier() override;
  /// Through the store that the ranks met at. Throws levin::LostRankError if it is gone.
  void leave_note(const std::string& key, const std::string& text) override;
  std::optional<std::string> take_note(const std::string& key) override;

  /// Starts a sum over all ranks without waiting for it: `tensor` holds the sum once the returned function was called.
  std::function<void()> begin_all_reduce(at::Tensor& tensor);
  /// Returns the c10d process group, for c10d's own classes.
  const c10::intrusive_ptr<c10d::ProcessGroup>& raw() const;
  /// Calls `body`. An exception of a failed c10d collective becomes a levin::LostRankError that names `call` and the
  /// ranks that reported no failure themselves: they have ended, or hang.
  void guarded(const char* call, const std::function<void()>& body) const;
  /// While it lives, every call of the group and of its subgroups throws levin::Error instead of starting. It is for
  /// code that runs while an exception propagates, when the other ranks do not take part and the call would wait for
  /// them.
  class CollectivesBlock {
   public:
    explicit CollectivesBlock(const ProcessGroup& group);
    ~CollectivesBlock();
    CollectivesBlock(const CollectivesBlock&) = delete;
    CollectivesBlock& operator=(const CollectivesBlock&) = delete;

   private:
    const ProcessGroup& group_;
  };
  /// Returns the latest calls, one line each: number, name, and the milliseconds it took or that it did not end.
  std::string newest_calls() const;

 private:
  struct Parts;
  ProcessGroup(int64_t rank, int64_t world_size);
  /// Returns the ranks that have not reported a failed call yet.
  std::vector<int64_t> ranks_that_miss_nobody(const std::string& call) const;
  int64_t rank_, world_size_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace levin
