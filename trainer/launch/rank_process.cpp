#include <levin/trainer/launch/rank_process.h>
#include <fcntl.h>
#include <levin/trainer/core/system/error.h>
#include <levin/trainer/core/system/host_name.h>
#include <levin/trainer/core/system/signals.h>
#include <levin/trainer/launch/start_identity.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

extern char** environ;

namespace levin {
namespace {

/// Returns the command line of this process.
std::vector<std::string> own_command() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(in, word, '\0');) words.push_back(std::move(word));
  if (words.empty()) throw Error("the command line of this process cannot be read from /proc/self/cmdline");
  return words;
}

/// Returns the environment of this process with `values` in place of its own.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& values) {
  std::vector<std::string> all;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string entry(*one);
    if (!values.count(entry.substr(0, entry.find('=')))) all.push_back(entry);
  }
  for (const auto& [name, value] : values) all.push_back(name + "=" + value);
  return all;
}

/// Returns pointers for exec, with a null at the end. `texts` must outlive them.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Runs in the forked process before exec. It must not allocate, because a thread of the supervisor may have held a
/// lock.
[[noreturn]] void become(const char* program, char** arguments, char** variables, int output, ::pid_t supervisor) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != supervisor) ::_exit(127);
  ::setpgid(0, 0);
  if (output >= 0) {
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
  }
  ::execve(program, arguments, variables);
  ::_exit(127);
}

}  // namespace

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
  std::vector<std::string> variables = environment_with(values);
  const bool is_own = run.commands.empty();
  std::vector<std::string> words = is_own ? own_command() : run.commands.at(static_cast<size_t>(local_rank));
  const std::string program = is_own ? "/proc/self/exe" : words.front();
  std::vector<char*> argument_pointers = pointers_to(words), variable_pointers = pointers_to(variables);
  const int mode = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (environment.restarts > 0 ? O_APPEND : O_TRUNC);
  const int output = own_output ? -1 : ::open(log_.c_str(), mode, 0666);
  if (!own_output && output < 0) throw UsageError(log_.string(), ": cannot be written");
  const ::pid_t supervisor = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) become(program.c_str(), argument_pointers.data(), variable_pointers.data(), output, supervisor);
  if (output >= 0) ::close(output);
  if (pid_ < 0) throw Error(called_, " ", rank_, " cannot be started: errno ", errno);
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
