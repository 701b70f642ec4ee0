#pragma once
#include <levin/core/ranks/memory/collective.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>

namespace levin {

/// The collectives of one group that this rank has begun, in their order.
///
/// There is no thread that runs them: who waits for one runs it and those before it. What another rank needs from this
/// one is published when the collective begins, as far as the slots hold it. Every few
/// milliseconds a thread of the process continues the calls for which no thread waits, so that ranks which wait for
/// each other in several groups do not hang.
class CollectiveQueue {
 public:
  struct Call {
    Collective collective;
    uint32_t first_round = 0;
    int64_t round = 0;  ///< the next to run
    bool is_done = false;
  };

  /// Throws levin::Error if the system permits no thread more.
  static std::shared_ptr<CollectiveQueue> make(std::unique_ptr<RankSlots> slots);

  /// Begins a collective. Throws as `finish` if an earlier one has failed.
  std::shared_ptr<Call> begin(Collective collective);
  /// Runs the call to its end. Throws c10::DistError if a rank has ended or does not come within `timeout`, and
  /// levin::Error if the ranks call different collectives; all later calls throw the same.
  void finish(const std::shared_ptr<Call>& call, std::chrono::milliseconds timeout);
  /// Runs the calls as far as that is possible without waiting. Returns whether `call` is done, or has failed.
  bool is_done(const std::shared_ptr<Call>& call);
  /// Does that unless another thread is at it; returns whether a call was unfinished.
  bool advance_if_free();
  /// Ends all calls of this group on all ranks.
  void abort(const std::string& reason);

 private:
  explicit CollectiveQueue(std::unique_ptr<RankSlots> slots);
  /// Runs the first call; without a timeout as far as possible without waiting. Returns whether it is done.
  bool advance(const std::chrono::milliseconds* timeout);
  void advance_all();
  void check_same(const Call& call, int64_t round) const;

  std::unique_ptr<RankSlots> slots_;
  std::mutex mutex_ = {};
  std::deque<std::shared_ptr<Call>> calls_ = {};
  std::exception_ptr failure_ = {};
};

}  // namespace levin
