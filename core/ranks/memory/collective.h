#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/ranks/memory/mappable_memory.h>
#include <levin/core/ranks/memory/rank_slots.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace levin {

/// The slots of one collective. Its rounds are counted from 0.
class CollectiveSlots {
 public:
  /// The bytes of a slot that a collective may fill.
  static constexpr size_t kBytes = RankSlots::kSlotBytes - 64;

  CollectiveSlots(const RankSlots& slots, uint32_t first) : slots_(slots), first_(first) {}
  std::byte* own(int64_t round) const { return of(slots_.rank(), round); }
  std::byte* of(int64_t rank, int64_t round) const {
    return slots_.slot(rank, first_ + static_cast<uint32_t>(round)) + 64;
  }
  /// Returns the slots of the rounds that come after the first `rounds`.
  CollectiveSlots after(int64_t rounds) const { return {slots_, first_ + static_cast<uint32_t>(rounds)}; }

 private:
  const RankSlots& slots_;
  uint32_t first_;
};

/// What a rank does in a collective.
struct Collective {
  const char* name = "";
  int64_t bytes = 0;  ///< of a rank's tensor; with the name the same on all ranks
  /// Called for each round from 0 on: it reads what the ranks published in the round before, if there is one, and fills
  /// the slot of this round. Returns false if nothing is left to publish: the collective has ended then. All ranks
  /// have the same number of rounds.
  std::function<bool(const CollectiveSlots& slots, int64_t round)> run = {};
};

/// This rank among `ranks`.
struct RankOf {
  int64_t rank = 0, ranks = 1;
  std::shared_ptr<PeerMemory> peers = std::make_shared<PeerMemory>();
};

// The collectives. Tensors are contiguous, on the CPU, and live in the collective. Parts are summed in the order of the
// ranks, so that results repeat, and are the same on all ranks.
//
// Large tensors of a sum, a reduce-scatter and an all-gather are read where they lie if those of all ranks are in
// mappable memory; other bytes go through the slots.

bool can_reduce(const at::Tensor& tensor, const c10d::ReduceOp& op);
Collective all_reduce_in_memory(RankOf who, const at::Tensor& tensor, c10d::ReduceOp::RedOpType op);
/// Rank `root` gets the result; the tensors of the others keep their values.
Collective reduce_in_memory(RankOf who, const at::Tensor& tensor, c10d::ReduceOp::RedOpType op, int64_t root);
/// `all` holds a share for each rank; `own` gets the result for this rank's share, and may lie in `all`.
Collective reduce_scatter_in_memory(RankOf who, const at::Tensor& own, const std::vector<at::Tensor>& all,
                                    c10d::ReduceOp::RedOpType op);
Collective broadcast_in_memory(RankOf who, const at::Tensor& tensor, int64_t root);
Collective all_gather_in_memory(RankOf who, const std::vector<at::Tensor>& all, const at::Tensor& own);
/// `all` is empty on the other ranks than `root`.
Collective gather_in_memory(RankOf who, const std::vector<at::Tensor>& all, const at::Tensor& own, int64_t root);
Collective scatter_in_memory(RankOf who, const at::Tensor& own, const std::vector<at::Tensor>& all, int64_t root);
/// The shares of all ranks have one size.
Collective all_to_all_in_memory(RankOf who, const std::vector<at::Tensor>& received,
                                const std::vector<at::Tensor>& sent);
Collective barrier_in_memory();

}  // namespace levin
