#pragma once
#include <levin/trainer/launch/environment.h>

#include <cstdint>
#include <string>

namespace levin {

/// One start of a program by its user, which launchers and queues may restart.
struct StartIdentity {
  /// The same in all restarts, and different for each start; empty if the environment has none.
  std::string id = {};
  int64_t restarts = 0;  ///< earlier restarts
  /// False for a name that the user chose (torchrun's --rdzv-id), which another start may share.
  bool is_unique = true;

  /// Returns the identity of the process's `number`-th fit.
  std::string of_fit(int64_t number) const { return id.empty() ? "" : id + "/" + std::to_string(number); }
};

/// Finds the start from the variables of levin's supervisor, the SLURM job (or array task), torchrun, or the LSF job.
/// `command`: the command line of this process, because a job may run several. `parent`: a unique id of the parent
/// process.
StartIdentity find_start(const GetEnv& get_env, const std::string& command, const std::string& parent);
/// Returns the same for this process.
StartIdentity find_start();

/// For the supervisor of ranks: returns the identity that all its starts share, from the job of this process or else a
/// new one.
std::string start_of_ranks();

/// The variable in which a supervisor passes the identity.
inline constexpr const char* kStartVariable = "LEVIN_START_ID";

}  // namespace levin
