#pragma once
#include <levin/trainer/core/comm.h>
#include <levin/trainer/core/state.h>

#include <string>
#include <vector>

namespace levin {

/// The state trees of all ranks, in the order of the ranks, on every rank. Called by all ranks together.
std::vector<State> gather_states(const State& own, Comm& comm);

/// Rank 0's text, on every rank. Called by all ranks together.
std::string text_of_rank_zero(const std::string& own, Comm& comm);

}  // namespace levin
