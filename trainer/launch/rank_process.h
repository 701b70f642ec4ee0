#pragma once
#include <levin/trainer/launch/supervisor.h>
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace levin {

/// What all ranks of a start are told, beside their own numbers.
struct RankEnvironment {
  static constexpr const char* kFailureFile = "LEVIN_FAILURE_FILE";

  std::filesystem::path failure_folder = {};  ///< for what ranks say of their failure
  std::string start = {};                     ///< what all starts of the ranks have in common
  std::string master_addr = {};
  int64_t master_port = 0;
  std::string secret = {};
  int64_t threads = 1;   ///< for computing, of each rank
  int64_t restarts = 0;  ///< starts before this one
};

/// One rank, as its supervisor sees it.
class RankProcess {
 public:
  /// Starts it. Throws levin::Error where the system has no process left.
  RankProcess(const SupervisedRun& run, const RankEnvironment& environment, int64_t local_rank);

  int64_t rank() const { return rank_; }
  bool ended() const { return ended_; }
  /// Whether it has ended; then what follows is known.
  bool reap();
  void send(int signal_number) const;
  /// Asks it where it is (write_stack_on SIGQUIT): it is not to end by itself any more, and `kill` comes next.
  void give_up();
  /// Ends it at once.
  void kill();
  bool was_given_up() const { return given_up_; }
  bool was_killed() const { return killed_; }

  /// The exit code, or 128 and the signal that ended it.
  int code() const { return code_; }
  /// Whether it has ended by itself, with this exit code.
  bool has_exited_with(int code) const;
  /// Whether it says that it failed only because another rank did.
  bool lost_another() const { return lost_another_; }
  /// What it says of its failure; empty where nothing.
  const std::string& error() const { return error_; }
  /// Its output; empty where that is the supervisor's own.
  const std::filesystem::path& log() const { return log_; }
  /// "rank 2 (node1) was ended by SIGKILL".
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
