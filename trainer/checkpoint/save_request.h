#pragma once
#include <levin/core/ranks/comm.h>
#include <levin/core/run/run.h>

#include <filesystem>
#include <vector>

namespace levin {

/// A requested checkpoint.
struct SaveRequest {
  std::filesystem::path path = {};
  SaveCheckpointOptions how = {};
};

/// Returns the requests of all ranks, each path once, in the same order everywhere. Collective: all ranks call it.
std::vector<SaveRequest> requests_of_all_ranks(const std::vector<SaveRequest>& own, Comm& comm);

}  // namespace levin
