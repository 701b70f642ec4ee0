#pragma once
#include <levin/trainer/launch/supervisor.h>
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace levin {

/// The environment that all ranks of a start share.
struct RankEnvironment {
  static constexpr const char* kFailureFile = "LEVIN_FAILURE_FILE";

  std::filesystem::path failure_folder = {};  ///< for the ranks' failure reports
  std::string start = {};                     ///< the identity shared by all restarts of the ranks
  std::string master_addr = {};
  int64_t master_port = 0;
  std::string secret = {};
  int64_t threads = 1;   ///< compute threads per rank
  int64_t restarts = 0;  ///< earlier starts
};

/// One rank's process, as seen by its supervisor.
class RankProcess {
 public:
  /// Starts the process. Throws levin::Error if the system cannot create one.
  RankProcess(const SupervisedRun& run, const RankEnvironment& environment, int64_t local_rank);

  int64_t rank() const { return rank_; }
  bool ended() const { return ended_; }
  /// Returns true once when the process has ended. From then on code(), error() and how_it_ended() are known.
  bool reap();
  void send(int signal_number) const;
  /// Marks a hung process and asks it for its stack (write_stack_on SIGQUIT). `kill` comes next.
  void give_up();
  /// Sends SIGKILL.
  void kill();
  bool was_given_up() const { return given_up_; }
  bool was_killed() const { return killed_; }

  /// Returns the exit code, or 128 + the signal that ended the process.
  int code() const { return code_; }
  /// Returns whether the process exited, not by a signal, with this code.
  bool has_exited_with(int code) const;
  /// Returns whether the process reported that it failed only because another rank did.
  bool lost_another() const { return lost_another_; }
  /// Returns the reported error; empty if there is none.
  const std::string& error() const { return error_; }
  /// Returns the file with the process's output; empty if the process writes to the supervisor's output.
  const std::filesystem::path& log() const { return log_; }
  /// Describes the end: "rank 2 (node1, process 12) was ended by SIGKILL".
  std::string how_it_ended() const;

 private:
  void read_failure();

  std::string called_ = {};
  int64_t rank_ = 0;
  ::pid_t pid_ = -1;
  std::filesystem::path log_ = {}, failure_file_ = {};
  bool ended_ = false, given_up_ = false, killed_ = false, lost_another_ = false;
  int status_ = 0, code_ = 0;
  std::string error_ = {}, state_ = {};
};

}  // namespace levin
