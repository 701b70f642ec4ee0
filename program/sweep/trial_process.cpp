#include <levin/program/sweep/trial_process.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/system/error.h>
#include <levin/core/system/file_calls.h>
#include <levin/core/system/signals.h>
#include <levin/program/sweep/stop_after_epochs.h>
#include <levin/trainer/launch/rank_process.h>
#include <levin/trainer/launch/start_process.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <utility>

namespace levin::sweep {
namespace {

constexpr const char* kEndMark = "LEVIN_SWEEP_END_MARK";

std::vector<int> cores_of_this_process() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

std::string last_line(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string last;
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) last = line;
  return last;
}

}  // namespace

std::vector<Place> make_places(int64_t jobs, int64_t cores, const std::vector<std::string>& gpus) {
  std::vector<int> own = cores_of_this_process();
  own.resize(std::min(own.size(), static_cast<size_t>(cores)));
  const size_t share = std::max<size_t>(1, own.size() / static_cast<size_t>(jobs));
  std::vector<Place> places(static_cast<size_t>(jobs));
  for (size_t i = 0; i < places.size(); ++i) {
    for (size_t j = 0; j < share && !own.empty(); ++j) places[i].cores.push_back(own[(i * share + j) % own.size()]);
    if (!gpus.empty()) places[i].gpus = gpus[i % gpus.size()];
  }
  return places;
}

void mark_end_of_trial() {
  if (const char* const file = std::getenv(kEndMark)) write_text_file_atomically(file, "");
}

TrialProcess::TrialProcess(const TrialRequest& request) : log_(request.log), failure_file_(request.log) {
  failure_file_.replace_extension(".error");
  std::error_code ignored;
  std::filesystem::remove(failure_file_, ignored);
  std::map<std::string, std::string> variables = {
      {RankEnvironment::kFailureFile, std::filesystem::absolute(failure_file_).string()},
      {kEndMark, std::filesystem::absolute(request.end_mark).string()}};
  if (request.epochs > 0) variables[StopAfterEpochs::kVariable] = std::to_string(request.epochs);
  if (!request.place.gpus.empty()) variables["CUDA_VISIBLE_DEVICES"] = request.place.gpus;
  std::vector<std::string> words = request.words;
  words.insert(words.begin(), "levin");
  id_ = start_process({.words = std::move(words),
                       .program = "/proc/self/exe",
                       .variables = std::move(variables),
                       .output = log_,
                       .appends = true,
                       .cores = request.place.cores,
                       .called = "a trial"});
}

void TrialProcess::send(int signal_number) const { ::kill(id_, signal_number); }

std::optional<TrialOutcome> TrialProcess::reap() {
  int status = 0;
  if (::waitpid(id_, &status, WNOHANG) != id_) return {};
  if (WIFSIGNALED(status)) return TrialOutcome{true, "its process was ended by " + signal_name(WTERMSIG(status))};
  const int code = WEXITSTATUS(status);
  if (code == 0) return TrialOutcome();
  if (code == 128 + SIGTERM || code == 128 + SIGINT || code == 128 + SIGHUP)
    return TrialOutcome{true, "it was stopped by a signal"};
  // "own\nwhat went wrong"
  std::string error;
  read_file(failure_file_, error);
  error.erase(0, error.find('\n') == std::string::npos ? error.size() : error.find('\n') + 1);
  if (error.empty()) error = last_line(log_);
  return TrialOutcome{false, error.empty() ? "exit code " + std::to_string(code) : error};
}

}  // namespace levin::sweep
