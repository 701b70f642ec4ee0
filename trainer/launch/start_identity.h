#pragma once
#include <levin/trainer/launch/environment.h>

#include <cstdint>
#include <string>

namespace levin {

/// One start of a program by its user, which launchers and queues may repeat.
struct StartIdentity {
  /// Equal in all repetitions, and different for each start; empty where nothing of this process tells.
  std::string id = {};
  int64_t restarts = 0;  ///< repetitions before this one
  /// False for a name that a user has chosen (torchrun's --rdzv-id), which another start may have had.
  bool is_unique = true;

  /// That of the fit that the process begins as its `number`-th.
  std::string of_fit(int64_t number) const { return id.empty() ? "" : id + "/" + std::to_string(number); }
};

/// The start as the variables tell it: of levin's supervisor, the SLURM job (or task of an array), torchrun, or the LSF
/// job. `command` is the command line of this process, since a job may have several, and `parent` tells the process
/// that has started this one from all others.
StartIdentity find_start(const GetEnv& get_env, const std::string& command, const std::string& parent);
/// The same for this process.
StartIdentity find_start();

/// For the supervisor of ranks: what their starts have in common. That of the job which this process runs in, or else a
/// new one.
std::string start_of_ranks();

/// The variable by which a supervisor tells it.
inline constexpr const char* kStartVariable = "LEVIN_START_ID";

}  // namespace levin
