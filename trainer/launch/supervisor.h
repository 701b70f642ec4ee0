#pragma once
#include <cstdint>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

namespace levin {

/// The processes that a supervisor starts on this machine.
struct SupervisedRun {
  int64_t ranks = 1;                      ///< of this machine
  int64_t node_rank = 0, num_nodes = 1;   ///< this machine's index, and the number of machines, each with `ranks` ranks
  std::string master_addr = "127.0.0.1";  ///< of the first machine
  int64_t master_port = 0;                ///< of the store that the first machine's supervisor hosts; 0: a free port
  std::string secret = {};                ///< LEVIN_SECRET, which ranks on several machines need to connect
  std::string called = "rank";            ///< the word for a process in messages and log names
  int64_t max_restarts = 0;               ///< how often all ranks are restarted after a failure
  std::filesystem::path log_folder = {};  ///< for the output of all ranks except the first: rank_1.log, ...
  bool keeps_logs = true;                 ///< false: the caller removes the folder, which no message names
  /// The command line of each rank; empty: this process's command line for all ranks.
  std::vector<std::vector<std::string>> commands = {};
  /// How long the other ranks may continue after a rank has failed, to detect and report the loss. Then each is asked
  /// for its stack by SIGQUIT, and killed.
  double grace_seconds = 2;
};

/// Starts the command once per rank, each in a new process, and waits until all have ended. The ranks get the
/// environment variables of torchrun. The first rank writes to this process's output.
///
/// If a rank fails, the others are ended, and the failed rank, how it ended, its error and its last lines are written
/// to stderr. If restarts are left, all ranks are restarted with TORCHELASTIC_RESTART_COUNT one higher. SIGTERM,
/// SIGINT, SIGHUP, SIGUSR1 and SIGUSR2 are forwarded to the ranks, unless this process ignores them. The first SIGTERM,
/// SIGINT or SIGHUP asks the ranks to end, and continues stopped ones. After a second one, ranks that have not ended
/// within `grace_seconds` are killed. No rank outlives this process, however it ends.
///
/// Returns the exit code: 0, the exit code of the failed rank, or 128 + the signal.
int supervise(const SupervisedRun& run);

/// Reports to the supervisor, if there is one, why this process is about to fail. A LostRankError means that it fails
/// only because another rank did. Only the first report of a process counts.
void report_failure(const std::exception& error);

}  // namespace levin
