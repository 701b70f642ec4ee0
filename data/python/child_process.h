#pragma once
#include <levin/data/python/descriptor.h>
#include <sys/types.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace levin::data {

/// A process in a group of its own, with an empty standard input, that ends with this one: the system kills it if this
/// process ends, however that happens.
///
/// The system does so when the thread ends that started it. So a thread of its own starts the process, and waits for
/// its end.
class ChildProcess {
 public:
  /// `words` are the program, which is looked for in PATH, and its arguments; `descriptors` are those that it has as 3,
  /// 4, ...; `variables` are added to its environment. Throws levin::UsageError if there is no such program, and
  /// levin::Error if the system cannot start one.
  ChildProcess(std::vector<std::string> words, std::vector<int> descriptors,
               const std::map<std::string, std::string>& variables);
  /// Kills it and all of its group, and waits for its end.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Returns a descriptor that poll finds readable once the process has ended; -1 before Linux 5.3.
  int watch() const { return watch_.number(); }
  /// Waits at most `seconds` for the process to end. Returns its status as waitpid gives it; unset if it still runs.
  std::optional<int> wait(double seconds);

 private:
  void run(std::vector<std::string> words, const std::vector<int>& descriptors, std::vector<std::string> variables);

  std::mutex mutex_ = {};
  std::condition_variable changed_ = {};
  ::pid_t process_ = -1;
  int error_ = 0;  // the errno of the start
  bool is_started_ = false;
  std::optional<int> status_ = {};
  Descriptor watch_ = {};
  std::thread keeper_ = {};
};

/// Returns a descriptor that poll finds readable once a process has ended; not open before Linux 5.3.
Descriptor watch_process(::pid_t process);

/// Returns how a process ended by its status from waitpid: "was ended by SIGSEGV", "ended with exit code 1".
std::string how_it_ended(std::optional<int> status);

}  // namespace levin::data
