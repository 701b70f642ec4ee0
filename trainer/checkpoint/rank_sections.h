#pragma once
#include <levin/core/state/state.h>

#include <cstdint>
#include <vector>

namespace levin {

/// The sections that ranks saved, distributed to the same or another number of ranks.
///
/// With the same number of ranks each takes its own section. Otherwise:
/// - rank 0 takes the gradients and metrics of all and the others none, so that sums over ranks are unchanged
/// - logged values are divided into equal shares
/// - loaders take the position of rank 0's loaders, which is that of all ranks if the loaders are in step
/// - each new rank gets its own random number stream
class RankSections {
 public:
  /// `ranks`: a list with one section per rank that saved; it must outlive the object.
  RankSections(const State& ranks, int64_t rank, int64_t world_size);

  int64_t saved() const { return static_cast<int64_t>(sections_.size()); }
  bool other_ranks() const { return saved() != world_size_; }
  /// This rank's section, or rank 0's if there is none.
  const State& own() const { return sections_[rank_ < saved() ? static_cast<size_t>(rank_) : 0]; }
  /// Returns the sections whose sums this rank takes over: several, one or none.
  std::vector<const State*> sections_for_sums() const;
  /// Returns the state of logged values for this rank.
  State logged() const;
  /// Returns the random number state and the loaders' positions for this rank.
  State places() const;

 private:
  const State::List& sections_;
  int64_t rank_, world_size_;
};

}  // namespace levin
