#pragma once
#include <levin/trainer/core/state.h>

#include <cstdint>
#include <vector>

namespace levin {

/// What ranks have saved of their own, handed out to as many ranks or to others.
///
/// On as many ranks each takes its own. Otherwise rank 0 takes the gradients and metrics of all and the others none, so
/// that what is reduced over the ranks stays what it was; values that were logged come in equal shares; loaders stand
/// where rank 0's stood, which are positions of all ranks where they are in step; and a rank that is new draws random
/// numbers of its own.
class RankSections {
 public:
  /// `ranks`: a list with the section of each rank that saved; it must outlive this.
  RankSections(const State& ranks, int64_t rank, int64_t world_size);

  int64_t saved() const { return static_cast<int64_t>(sections_.size()); }
  bool other_ranks() const { return saved() != world_size_; }
  /// This rank's own section, or rank 0's where it has none.
  const State& own() const { return sections_[rank_ < saved() ? static_cast<size_t>(rank_) : 0]; }
  /// The sections whose sums this rank goes on with: several, one or none.
  std::vector<const State*> taken_over() const;
  /// What was logged.
  State logged() const;
  /// Random numbers, and where the loaders stand.
  State places() const;

 private:
  const State::List& sections_;
  int64_t rank_, world_size_;
};

}  // namespace levin
