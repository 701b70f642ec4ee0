#include <levin/trainer/launch/rank_process.h>
#include <levin/core/system/error.h>
#include <levin/core/system/host_name.h>
#include <levin/core/system/signals.h>
#include <levin/trainer/launch/start_identity.h>
#include <levin/trainer/launch/start_process.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace levin {

RankProcess::RankProcess(const SupervisedRun& run, const RankEnvironment& environment, int64_t local_rank)
    : called_(run.called), rank_(run.node_rank * run.ranks + local_rank) {
  failure_file_ = environment.failure_folder / ("rank_" + std::to_string(rank_) + ".error");
  std::filesystem::remove(failure_file_);
  const bool own_output = local_rank == 0 || run.log_folder.empty();
  if (!own_output) log_ = run.log_folder / (run.called + "_" + std::to_string(rank_) + ".log");
  std::map<std::string, std::string> values = {
      {"RANK", std::to_string(rank_)},
      {"LOCAL_RANK", std::to_string(local_rank)},
      {"WORLD_SIZE", std::to_string(run.ranks * run.num_nodes)},
      {"LOCAL_WORLD_SIZE", std::to_string(run.ranks)},
      {"GROUP_RANK", std::to_string(run.node_rank)},
      {"MASTER_ADDR", environment.master_addr},
      {"MASTER_PORT", std::to_string(environment.master_port)},
      {"TORCHELASTIC_USE_AGENT_STORE", "True"},
      {"TORCHELASTIC_RESTART_COUNT", std::to_string(environment.restarts)},
      {"LEVIN_SUPERVISOR", std::to_string(::getpid())},
      {RankEnvironment::kFailureFile, failure_file_.string()},
      {kStartVariable, environment.start},
  };
  if (!environment.secret.empty()) values["LEVIN_SECRET"] = environment.secret;
  if (std::getenv("OMP_NUM_THREADS") == nullptr) values["OMP_NUM_THREADS"] = std::to_string(environment.threads);
  pid_ = start_process(
      {.words = run.commands.empty() ? std::vector<std::string>() : run.commands.at(static_cast<size_t>(local_rank)),
       .variables = values,
       .output = log_,
       .appends = environment.restarts > 0,
       .called = called_ + " " + std::to_string(rank_)});
}

bool RankProcess::reap() {
  if (::waitpid(pid_, &status_, WNOHANG) != pid_) return false;
  ended_ = true;
  code_ = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  read_failure();
  return true;
}

void RankProcess::read_failure() {
  std::ifstream in(failure_file_);
  std::string kind;
  if (!std::getline(in, kind)) return;
  lost_another_ = kind == "lost";
  error_.assign(std::istreambuf_iterator<char>(in), {});
  in.close();
  std::filesystem::remove(failure_file_);
}

void RankProcess::send(int signal_number) const {
  if (!ended_) ::kill(pid_, signal_number);
}

void RankProcess::give_up() {
  given_up_ = true;
  // "State:\tT (stopped)"
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("State:", 0) == 0) state_ = line.substr(line.find('(') == std::string::npos ? 7 : line.find('('));
  send(SIGQUIT);
}

void RankProcess::kill() {
  killed_ = true;
  send(SIGKILL);
}

bool RankProcess::has_exited_with(int code) const { return ended_ && WIFEXITED(status_) && code_ == code; }

std::string RankProcess::how_it_ended() const {
  const std::string who =
      called_ + " " + std::to_string(rank_) + " (" + host_name() + ", process " + std::to_string(pid_) + ")";
  if (given_up_) return who + " did not answer the other ranks any more, and was ended; its process was " + state_;
  if (WIFSIGNALED(status_)) return who + " was ended by " + signal_name(WTERMSIG(status_));
  if (code_ == 0) return who + " has ended before the others, with exit code 0";
  return who + " failed with exit code " + std::to_string(code_);
}

}  // namespace levin
