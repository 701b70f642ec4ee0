#include <levin/trainer/launch/supervisor.h>
#include <cxxabi.h>
#include <fcntl.h>
#include <levin/core/ranks/host_address.h>
#include <levin/core/ranks/process_group.h>
#include <levin/core/ranks/store_server.h>
#include <levin/core/system/console.h>
#include <levin/core/system/cores.h>
#include <levin/core/system/error.h>
#include <levin/core/system/file_calls.h>
#include <levin/core/system/private_folder.h>
#include <levin/core/system/signals.h>
#include <levin/trainer/launch/rank_process.h>
#include <levin/trainer/launch/start_identity.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>

namespace levin {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kLastLines = 15;
/// Time for a rank to write its stack to its output.
constexpr double kSecondsToAnswer = 0.5;

int g_pipe[2] = {-1, -1};

void write_signal(int number) {
  const int error = errno;
  const auto byte = static_cast<unsigned char>(number);
  if (::write(g_pipe[1], &byte, 1) < 0) {
    // The pipe is full, so a signal is already pending.
  }
  errno = error;
}

/// While the object exists, forwarded signals and SIGCHLD arrive in a pipe. Ignored signals stay ignored, also in the
/// ranks.
class SignalPipe {
 public:
  SignalPipe() {
    if (::pipe2(g_pipe, O_CLOEXEC | O_NONBLOCK) != 0) throw Error("pipe2 failed: errno ", errno);
    struct sigaction action = {};
    action.sa_handler = write_signal;
    action.sa_flags = SA_RESTART;
    for (size_t i = 0; i < kSignals.size(); ++i) {
      ::sigaction(kSignals[i], nullptr, &before_[i]);
      // A process that ignores SIGCHLD could not wait for its children.
      if (kSignals[i] == SIGCHLD || !is_ignored(kSignals[i])) ::sigaction(kSignals[i], &action, nullptr);
    }
  }
  ~SignalPipe() {
    for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
    ::close(g_pipe[0]);
    ::close(g_pipe[1]);
  }
  SignalPipe(const SignalPipe&) = delete;
  SignalPipe& operator=(const SignalPipe&) = delete;

  /// Returns the next signal; 0 after the timeout.
  int wait(std::chrono::milliseconds time) const {
    pollfd waiting{g_pipe[0], POLLIN, 0};
    ::poll(&waiting, 1, static_cast<int>(time.count()));
    unsigned char byte = 0;
    return ::read(g_pipe[0], &byte, 1) == 1 ? byte : 0;
  }

 private:
  static constexpr std::array kSignals = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD};
  std::array<struct sigaction, kSignals.size()> before_ = {};
};

/// Returns the last lines of a rank's output.
std::vector<std::string> last_lines(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(std::move(line));
    if (lines.size() > kLastLines) lines.erase(lines.begin());
  }
  return lines;
}

/// Demangles the function name in a line of a stack: "program(_ZN5levin4mainEv+0x10)".
std::string readable(const std::string& line) {
  const size_t open = line.find("(_Z"), plus = line.find('+', open);
  if (open == std::string::npos || plus == std::string::npos) return line;
  const std::string name = line.substr(open + 1, plus - open - 1);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                          &std::free);
  return status == 0 ? line.substr(0, open + 1) + plain.get() + line.substr(plus) : line;
}

/// One start of all ranks.
class Start {
 public:
  Start(const SupervisedRun& run, const RankEnvironment& environment, const SignalPipe& signals)
      : run_(run), signals_(signals) {
    for (int64_t i = 0; i < run.ranks; ++i) ranks_.emplace_back(run, environment, i);
  }

  /// Waits until all ranks have ended and returns the exit code.
  int watch() {
    while (running() > 0) {
      const auto time = failed_at_ || ends_by_ ? std::chrono::milliseconds(50) : std::chrono::milliseconds(1000);
      const int signal_number = signals_.wait(time);
      if (signal_number != 0 && signal_number != SIGCHLD) forward(signal_number);
      reap();
      if (ends_by_ && Clock::now() > *ends_by_) end_others();
      if (!failed_at_) continue;
      const std::chrono::duration<double> since = Clock::now() - *failed_at_;
      if (since.count() > run_.grace_seconds) give_up_others();
      if (since.count() > run_.grace_seconds + kSecondsToAnswer) end_others();
    }
    if (asked_by_ != 0) return code_after_signal();
    if (!failed_at_) return 0;
    const RankProcess& culprit = find_culprit();
    describe(culprit);
    return culprit.code() != 0 ? culprit.code() : 1;
  }
  /// Returns whether a signal has asked the run to end, so that it is not restarted.
  bool was_asked_to_end() const { return asked_by_ != 0; }

 private:
  int64_t running() const {
    return std::count_if(ranks_.begin(), ranks_.end(), [](const auto& r) { return !r.ended(); });
  }

  void forward(int signal_number) {
    for (const RankProcess& rank : ranks_) rank.send(signal_number);
    if (signal_number != SIGTERM && signal_number != SIGINT && signal_number != SIGHUP) return;
    // A stopped rank could not react, and the others would wait for it.
    for (const RankProcess& rank : ranks_) rank.send(SIGCONT);
    const std::string said =
        signal_name(signal_number) + (asked_by_ == 0 ? "" : " again") + " is sent to the " + run_.called + "s; ";
    if (asked_by_ == 0) {
      asked_by_ = signal_number;
      console::info(said + "a second signal ends them at once");
    } else if (!ends_by_) {
      ends_by_ = Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(run_.grace_seconds * 1000));
      console::info(said + c10::str("those that are left in ", run_.grace_seconds, " s are killed"));
    }
  }

  void reap() {
    for (RankProcess& rank : ranks_)
      if (!rank.ended() && rank.reap()) {
        order_.push_back(&rank);
        // After a signal a rank may end before the others, which may still be saving.
        const bool in_order = rank.code() == 0 || (asked_by_ != 0 && rank.has_exited_with(128 + asked_by_));
        if (!in_order && !failed_at_) failed_at_ = Clock::now();
      }
  }

  void give_up_others() {
    for (RankProcess& rank : ranks_)
      if (!rank.ended() && !rank.was_given_up()) rank.give_up();
  }

  void end_others() {
    for (RankProcess& rank : ranks_)
      if (!rank.ended()) rank.kill();
  }

  /// Returns the rank whose failure made the others fail.
  const RankProcess& find_culprit() const {
    // First choice: a rank that failed by itself, not because it lost another.
    for (const RankProcess* rank : order_)
      if (rank->code() != 0 && !rank->was_given_up() && !rank->lost_another()) return *rank;
    // Then a rank that hung, or one that left while the others continued.
    for (const RankProcess* rank : order_)
      if (rank->was_given_up()) return *rank;
    for (const RankProcess* rank : order_)
      if (rank->code() == 0) return *rank;
    return *order_.front();
  }

  /// Returns the exit code of the first rank that failed by itself, and describes that rank. Without one, returns 0 if
  /// all ranks ended with 0, else 128 + the signal.
  int code_after_signal() const {
    for (const RankProcess* rank : order_) {
      const bool followed = rank->was_killed() || rank->lost_another() || rank->code() == 128 + asked_by_;
      if (rank->code() == 0 || followed) continue;
      describe(*rank);
      return rank->code();
    }
    const bool all_well = std::all_of(ranks_.begin(), ranks_.end(), [](const auto& r) { return r.code() == 0; });
    return all_well ? 0 : 128 + asked_by_;
  }

  void describe(const RankProcess& culprit) const {
    std::cerr << "levin: " << culprit.how_it_ended() << "\n";
    if (!culprit.error().empty()) std::cerr << "  its error: " << culprit.error() << "\n";
    if (culprit.log().empty()) return;
    std::cerr << "  its last lines" << (run_.keeps_logs ? ", of " + culprit.log().string() : "") << ":\n";
    for (const std::string& line : last_lines(culprit.log()))
      std::cerr << "  [" << run_.called << " " << culprit.rank() << "] " << readable(line) << "\n";
    std::cerr << std::flush;
  }

  const SupervisedRun& run_;
  const SignalPipe& signals_;
  std::vector<RankProcess> ranks_ = {};
  std::vector<const RankProcess*> order_ = {};  ///< the order in which the ranks ended
  std::optional<Clock::time_point> failed_at_ = {};
  int asked_by_ = 0;                               ///< the first signal that asked the run to end
  std::optional<Clock::time_point> ends_by_ = {};  ///< set after the second signal
};

}  // namespace

int supervise(const SupervisedRun& run) {
  const SignalPipe signals;
  std::optional<StoreServer> store;
  const StoreAccess access{.on_loopback = is_loopback(run.master_addr), .secret = run.num_nodes > 1 ? run.secret : ""};
  if (run.node_rank == 0) store.emplace(run.master_port, access);
  const PrivateFolder failures("failures");
  RankEnvironment environment{.failure_folder = failures.path(),
                              .start = start_of_ranks(),
                              .master_addr = run.master_addr,
                              .master_port = store ? store->port() : run.master_port,
                              .secret = run.secret,
                              .threads = std::max<int64_t>(1, cores_of_process() / run.ranks)};
  if (!run.log_folder.empty()) std::filesystem::create_directories(run.log_folder);
  for (;; ++environment.restarts) {
    Start start(run, environment, signals);
    const int code = start.watch();
    if (code == 0 || start.was_asked_to_end() || environment.restarts >= run.max_restarts) return code;
    console::warn(c10::str("all ranks are started again from their newest checkpoint (restart ",
                           environment.restarts + 1, " of ", run.max_restarts, ")"));
  }
}

void report_failure(const std::exception& error) {
  const char* const file = std::getenv(RankEnvironment::kFailureFile);
  if (file == nullptr) return;
  const int descriptor = open_file(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return;
  const bool lost_another = dynamic_cast<const LostRankError*>(&error) != nullptr;
  const std::string text = (lost_another ? "lost\n" : "own\n") + message_of(error);
  write_all(descriptor, text.data(), text.size());  // an error is left: the exit code reports the failure, too
  ::close(descriptor);
}

}  // namespace levin
