#pragma once
#include <levin/core/ranks/rendezvous.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace levin {

/// The launcher of ranks that a host program has, with a communicator of its own.
inline constexpr const char* kHostAsLauncher = "the host program";

/// This process's rank and rendezvous, from the environment variables of the launcher that started it.
struct LaunchEnvironment {
  std::string launcher = {};  ///< for messages: "torchrun", "SLURM", "mpirun", "LSF" or "levin"
  int64_t rank = 0, world_size = 1;
  int64_t local_rank = 0;        ///< among the ranks of this machine
  int64_t local_world_size = 1;  ///< ranks of this machine
  int64_t node_rank = 0;         ///< of this machine
  std::string master_addr = {};
  int64_t master_port = 0;
  bool store_is_served = false;  ///< the launcher hosts the store; otherwise rank 0 does
  std::string key = {};          ///< differs between starts, if the launcher restarts ranks
  int64_t restarts = 0;          ///< how often the launcher has restarted all ranks
  std::string secret = {};       ///< LEVIN_SECRET

  int64_t num_nodes() const { return (world_size + local_world_size - 1) / local_world_size; }
};

/// Reads an environment variable; returns null if it is not set.
using GetEnv = std::function<const char*(const char* name)>;

/// Looks for the variables of torchrun (and levin's launcher), of the mpirun of OpenMPI, MPICH and Intel MPI, SLURM's
/// srun and LSF, in this order. Returns nullopt if none of them started this process. MASTER_ADDR and MASTER_PORT take
/// precedence over derived values; `process_manager` tells apart the jobs of MPICH's mpirun on one machine. Throws
/// levin::UsageError for variables that are incomplete, not numbers, or contradict each other.
std::optional<LaunchEnvironment> find_launch_environment(const GetEnv& get_env,
                                                         const std::string& process_manager = {});
/// Returns the same for this process.
std::optional<LaunchEnvironment> find_launch_environment();

/// Returns the rendezvous for a ProcessGroup. `again` distinguishes the group from those that the process joined
/// before.
Rendezvous rendezvous_of(const LaunchEnvironment& environment, const std::string& again = {});

/// Expands a SLURM host list: "node[01-03,7],gpu5" is node01, node02, node03, node7, gpu5. Throws levin::UsageError if
/// `list` is not such a list.
/// Source: https://slurm.schedmd.com/scontrol.html, show hostnames
std::vector<std::string> expand_host_list(const std::string& list);

}  // namespace levin
