#pragma once
#include <levin/trainer/core/process_group.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace levin {

/// The place of this process among those that a launcher has started, as the launcher's variables tell it.
struct LaunchEnvironment {
  std::string launcher = {};  ///< for people: "torchrun", "SLURM", "mpirun", "LSF" or "levin"
  int64_t rank = 0, world_size = 1;
  int64_t local_rank = 0;        ///< among the ranks of this machine
  int64_t local_world_size = 1;  ///< ranks of this machine
  int64_t node_rank = 0;         ///< of this machine
  std::string master_addr = {};
  int64_t master_port = 0;
  bool store_is_served = false;  ///< the launcher serves the store; otherwise rank 0 does
  std::string key = {};          ///< of this start, where the launcher starts ranks again
  int64_t restarts = 0;          ///< how often the launcher has started all ranks again
  std::string secret = {};       ///< LEVIN_SECRET

  int64_t num_nodes() const { return (world_size + local_world_size - 1) / local_world_size; }
};

/// Reads a variable of the environment; null where it is not set.
using GetEnv = std::function<const char*(const char* name)>;

/// Looks for the variables of torchrun (and levin's own launcher), OpenMPI's mpirun, SLURM's srun and LSF, in this
/// order; nothing where this process was started by none of them. MASTER_ADDR and MASTER_PORT win over what is derived.
/// Throws levin::UsageError for variables that are incomplete, no numbers, or contradict each other.
std::optional<LaunchEnvironment> find_launch_environment(const GetEnv& get_env);
/// The same for this process.
std::optional<LaunchEnvironment> find_launch_environment();

/// Where these ranks meet, for a ProcessGroup. `again`: tells a group from others that the process has joined before.
Rendezvous rendezvous_of(const LaunchEnvironment& environment, const std::string& again = {});

/// The hosts of a SLURM list: "node[01-03,7],gpu5" is node01, node02, node03, node7, gpu5. Throws levin::UsageError for
/// what is no such list.
/// Source: https://slurm.schedmd.com/scontrol.html, show hostnames
std::vector<std::string> expand_host_list(const std::string& list);

}  // namespace levin
