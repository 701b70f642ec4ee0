#pragma once
#include <levin/core/ranks/memory/collective.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace levin {

/// The first byte of what each rank has, mapped by this one.
using OfRanks = std::vector<std::byte*>;

/// Calls `work` once on each rank if it can map what all ranks have, `bytes` from `data` on: they wait before and after
/// it. Else, and if `data` is null on a rank, runs `through_slots`.
Collective where_it_lies(RankOf who, std::byte* data, int64_t bytes, std::function<void(const OfRanks&)> work,
                         Collective through_slots);

}  // namespace levin
