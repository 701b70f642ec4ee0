#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace c10d {
class Store;
}  // namespace c10d

namespace levin {

/// The memory by which the ranks of one machine exchange bytes, in rounds. In each round a rank fills its slot and
/// publishes it; once another rank has published the round too, it may read that one's slot.
///
/// There are two slots per rank, for odd and even rounds. A rank fills the slot of a round only after all ranks have
/// published the round before, and so have read the slot of the round before that: nobody reads what is being
/// overwritten.
class RankSlots {
 public:
  static constexpr size_t kSlotBytes = size_t{256} << 10;
  /// The memory of a rank: a page with what others wait for, and its two slots.
  static constexpr size_t kControlBytes = 4096, kBlockBytes = kControlBytes + 2 * kSlotBytes;

  /// Of one process whose ranks are threads. `blocks`: kBlockBytes of zeros for each rank, which outlive the object.
  RankSlots(int64_t rank, std::vector<std::byte*> blocks);
  /// Meets the other ranks by way of the store, which waits for them as long as it does for a key. `names`: the ranks'
  /// numbers for errors. Returns null on all ranks unless all of them can map each other's memory; they are processes
  /// of one machine (machine_of_process).
  static std::unique_ptr<RankSlots> meet(c10d::Store& store, int64_t rank, std::vector<int64_t> names);
  ~RankSlots();
  RankSlots(const RankSlots&) = delete;
  RankSlots& operator=(const RankSlots&) = delete;

  int64_t rank() const { return rank_; }
  /// Returns the number by which errors call a rank.
  int64_t name_of(int64_t rank) const;
  int64_t world_size() const { return static_cast<int64_t>(blocks_.size()); }
  /// Returns a rank's slot in a round; the first round is 1.
  std::byte* slot(int64_t rank, uint32_t round) const;

  /// Makes this rank's slot of the next round readable for the others.
  void publish();
  /// Returns the last round that this rank published.
  uint32_t published() const { return published_; }
  /// Returns whether all ranks have published the round.
  bool are_there(uint32_t round) const;
  /// Waits until they have. Throws c10::DistError that names the ranks that have not: because one of them has ended, or
  /// because the time is over.
  void wait(uint32_t round, std::chrono::milliseconds timeout) const;
  /// Tells the others that this rank publishes nothing more, and why. A thread that waits throws soon after.
  void leave(const std::string& reason);

 private:
  struct Members;
  RankSlots(int64_t rank, std::vector<int64_t> names, std::unique_ptr<Members> members);
  void wait_for(int64_t rank, uint32_t round, std::chrono::steady_clock::time_point deadline) const;

  int64_t rank_;
  uint32_t published_ = 0;
  std::atomic<bool> leaves_ = false;
  std::vector<std::byte*> blocks_ = {};
  std::vector<int64_t> names_ = {};
  std::unique_ptr<Members> members_;  ///< the mapped memory and the processes; null if the ranks are threads
  bool takes_turns_ = false;          ///< there are more ranks than cores: who waits lets others run
};

}  // namespace levin
