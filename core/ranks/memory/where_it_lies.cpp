#include <levin/core/ranks/memory/where_it_lies.h>
#include <levin/core/ranks/memory/mappable_memory.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace levin {

Collective where_it_lies(RankOf who, std::byte* data, int64_t bytes, std::function<void(const OfRanks&)> work,
                         Collective through_slots) {
  // What fits into a slot is there with one wait.
  if (bytes <= static_cast<int64_t>(CollectiveSlots::kBytes)) return through_slots;
  struct State {
    std::vector<PeerMemory::Bytes> mapped;
    OfRanks of_ranks;           ///< empty if a rank's bytes cannot be mapped
    int64_t rounds_before = 0;  ///< those before the slots'; 0 while these are not taken
  };
  const auto places_of_ranks = [=](const CollectiveSlots& slots) {
    std::vector<MemoryPlace> places(static_cast<size_t>(who.ranks));
    for (int64_t rank = 0; rank < who.ranks; ++rank)
      std::memcpy(&places[static_cast<size_t>(rank)], slots.of(rank, 0), sizeof(MemoryPlace));
    return places;
  };
  const auto map_all = [=](const std::vector<MemoryPlace>& places, State& state) {
    try {
      for (int64_t rank = 0; rank < who.ranks; ++rank) {
        if (rank != who.rank)
          state.mapped.push_back(who.peers->map(places[static_cast<size_t>(rank)], static_cast<size_t>(bytes)));
        state.of_ranks.push_back(rank == who.rank ? data : state.mapped.back().data);
      }
    } catch (const Error&) {  // all take the slots
      state.of_ranks.clear();
    }
  };
  const auto run = [=, state = std::make_shared<State>()](const CollectiveSlots& slots, int64_t round) {
    const auto take_slots = [&] {
      return through_slots.run(slots.after(state->rounds_before), round - state->rounds_before);
    };
    if (state->rounds_before > 0) return take_slots();
    if (round == 0) {
      const MemoryPlace place = place_of(data, static_cast<size_t>(bytes));
      std::memcpy(slots.own(0), &place, sizeof(place));
    } else if (round == 1) {
      const std::vector<MemoryPlace> places = places_of_ranks(slots);
      if (std::ranges::any_of(places, [](const MemoryPlace& one) { return one.block_bytes == 0; })) {
        state->rounds_before = 1;
        return take_slots();
      }
      map_all(places, *state);
      *slots.own(1) = std::byte{!state->of_ranks.empty()};
    } else if (round == 2) {
      for (int64_t rank = 0; rank < who.ranks; ++rank)
        if (*slots.of(rank, 1) == std::byte{0}) state->rounds_before = 2;
      if (state->rounds_before > 0) return take_slots();
      work(state->of_ranks);
    }
    return round <= 2;
  };
  return {through_slots.name, through_slots.bytes, run};
}

}  // namespace levin
