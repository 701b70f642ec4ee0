#pragma once
#include <levin/trainer/core/comm.h>
#include <levin/trainer/core/run.h>

#include <filesystem>
#include <vector>

namespace levin {

/// A checkpoint that somebody asked for.
struct SaveRequest {
  std::filesystem::path path = {};
  SaveCheckpointOptions how = {};
};

/// What any rank was asked for, each path once, the same on all of them, who must all call it.
std::vector<SaveRequest> requests_of_all_ranks(const std::vector<SaveRequest>& own, Comm& comm);

}  // namespace levin
