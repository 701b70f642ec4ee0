#pragma once
#include <levin/core/ranks/memory/collective.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace levin {

/// The first byte of each rank's data, as this rank has mapped it.
using OfRanks = std::vector<std::byte*>;

/// Each rank has `bytes` at `data`. If every rank can map those of all others, `work` is called once on each rank, and
/// the ranks wait for each other before and after it. If not, or if `data` is null on a rank, `through_slots` runs.
Collective where_it_lies(RankOf who, std::byte* data, int64_t bytes, std::function<void(const OfRanks&)> work,
                         Collective through_slots);

}  // namespace levin
