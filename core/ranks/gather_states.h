#pragma once
#include <levin/core/ranks/comm.h>
#include <levin/core/state/state.h>

#include <cstdint>
#include <string>
#include <vector>

namespace levin {

/// Returns the state trees of all ranks, in rank order, on every rank. Collective: all ranks call it.
std::vector<State> gather_states(const State& own, Comm& comm);

/// Returns the state tree of `rank` on rank 0, and nothing on the others. Tensors that come from another rank are on
/// the CPU. Collective: all ranks call it.
State state_of_rank(const State& own, int64_t rank, Comm& comm);

/// Returns the largest of the ranks' counts on every rank. Collective: all ranks call it.
int64_t largest_count(int64_t own, Comm& comm);

/// Returns rank 0's text on every rank. Collective: all ranks call it.
std::string broadcast_text(const std::string& own, Comm& comm);

}  // namespace levin
