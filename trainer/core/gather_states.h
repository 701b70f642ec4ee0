#pragma once
#include <levin/trainer/core/comm.h>
#include <levin/trainer/core/state.h>

#include <cstdint>
#include <string>
#include <vector>

namespace levin {

/// The state trees of all ranks, in the order of the ranks, on every rank. Called by all ranks together.
std::vector<State> gather_states(const State& own, Comm& comm);

/// The state tree of one rank, on rank 0, and nothing on the others; what comes from another rank is on the CPU. Called
/// by all ranks together.
State state_of_rank(const State& own, int64_t rank, Comm& comm);

/// The largest of the ranks' counts, on every rank. Called by all ranks together.
int64_t largest_count(int64_t own, Comm& comm);

/// Rank 0's text, on every rank. Called by all ranks together.
std::string text_of_rank_zero(const std::string& own, Comm& comm);

}  // namespace levin
