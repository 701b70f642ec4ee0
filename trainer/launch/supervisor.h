#pragma once
#include <cstdint>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

namespace levin {

/// What a supervisor starts on this machine.
struct SupervisedRun {
  int64_t ranks = 1;                      ///< of this machine
  int64_t node_rank = 0, num_nodes = 1;   ///< this machine, among those that have as many ranks each
  std::string master_addr = "127.0.0.1";  ///< of the first machine
  int64_t master_port = 0;                ///< of the store that the first machine's supervisor serves; 0: a free one
  std::string secret = {};                ///< LEVIN_SECRET, which ranks of several machines must know to meet
  std::string called = "rank";            ///< what the processes are called where one has failed
  int64_t max_restarts = 0;               ///< how often all ranks are started again after one has failed
  std::filesystem::path log_folder = {};  ///< for the output of all ranks but the first: rank_1.log, ...
  /// The command line of each rank; empty: this process's own for all of them.
  std::vector<std::vector<std::string>> commands = {};
  /// Once a rank has failed, the others may go on for so long: to see that it is gone, and say so. Then each is asked
  /// where it is, by SIGQUIT, and ended.
  double grace_seconds = 2;
};

/// Starts the command once for each rank, a new process each, and watches them until all have ended. The ranks find
/// their place in the environment that torchrun uses; the first one's output is this process's own.
///
/// Where a rank fails, the others are ended; which it was, how it ended, its error and its last lines go to stderr.
/// With restarts left all are started again, with TORCHELASTIC_RESTART_COUNT one higher. SIGTERM, SIGINT, SIGHUP,
/// SIGUSR1 and SIGUSR2 go on to the ranks, unless this process ignores them. The first of SIGTERM, SIGINT and SIGHUP
/// asks the ranks to end, and wakes those that are stopped; after a second one, ranks that are left when the grace is
/// over are killed. No rank outlives this process, however it ends.
///
/// Returns the exit code: 0, that of the rank that failed, or 128 and the signal that ended it.
int supervise(const SupervisedRun& run);

/// Lets the supervisor of this process, if it has one, know why it is going to fail: a LostRankError says that it fails
/// only because another rank did. The first report of a process counts.
void report_failure(const std::exception& error);

}  // namespace levin
