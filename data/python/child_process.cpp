#include <levin/data/python/child_process.h>
#include <fcntl.h>
#include <levin/core/system/error.h>
#include <levin/core/system/exec.h>
#include <levin/core/system/signals.h>
#include <levin/core/system/start_thread.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace levin::data {
namespace {

/// Returns this process's environment, and of `variables` those that it does not have.
std::vector<std::string> environment_and(std::map<std::string, std::string> variables) {
  std::erase_if(variables, [](const auto& one) { return std::getenv(one.first.c_str()) != nullptr; });
  return environment_with(variables);
}

/// Runs in the forked process. It must not allocate, since another thread may have held a lock. `failed` is a pipe that
/// gets the errno if there is no such program.
[[noreturn]] void become_program(char** words, char** variables, const std::vector<int>& descriptors, int failed,
                                 ::pid_t parent) {
  follow_parent(parent);
  sigset_t none;
  sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  const int empty = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (empty >= 0) ::dup2(empty, STDIN_FILENO);
  for (size_t i = 0; i < descriptors.size(); ++i) ::dup2(descriptors[i], static_cast<int>(i) + 3);
  ::execvpe(words[0], words, variables);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(failed, &error, sizeof(error));
  ::_exit(127);
}

/// Returns a copy of the descriptor that is above those which the process will have.
Descriptor moved_up(int descriptor) { return Descriptor(::fcntl(descriptor, F_DUPFD_CLOEXEC, 64)); }

}  // namespace

ChildProcess::ChildProcess(std::vector<std::string> words, std::vector<int> descriptors,
                           const std::map<std::string, std::string>& variables) {
  const std::string program = words.front();
  keeper_ = start_thread("starting a process of Python",
                         [this, words = std::move(words), descriptors = std::move(descriptors),
                          environment = environment_and(variables)] { run(words, descriptors, environment); });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_started_; });
  if (error_ == 0) return;
  lock.unlock();
  keeper_.join();
  const std::string reason = std::generic_category().message(error_);
  if (error_ == ENOENT || error_ == EACCES || error_ == ENOEXEC)
    throw UsageError(program, ": ", reason, "; data.python names the interpreter");
  throw Error(program, " cannot be started: ", reason);
}

void ChildProcess::run(std::vector<std::string> words, const std::vector<int>& descriptors,
                       std::vector<std::string> variables) {
  ::pthread_setname_np(::pthread_self(), "levin-python");
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  std::vector<Descriptor> own;
  std::vector<int> numbers;
  for (const int descriptor : descriptors) numbers.push_back(own.emplace_back(moved_up(descriptor)).number());
  int ends[2] = {-1, -1};
  int error = ::pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno;
  const Descriptor failed(ends[0]);
  Descriptor failing = moved_up(Descriptor(ends[1]).number());
  std::vector<char*> word_pointers = exec_pointers(words), variable_pointers = exec_pointers(variables);
  const ::pid_t parent = ::getpid();
  const ::pid_t process = error == 0 ? ::fork() : -1;
  if (process == 0) become_program(word_pointers.data(), variable_pointers.data(), numbers, failing.number(), parent);
  if (process < 0 && error == 0) error = errno;
  failing.close();
  if (process > 0 && ::read(failed.number(), &error, sizeof(error)) == sizeof(error)) ::waitpid(process, nullptr, 0);
  {
    const std::lock_guard lock(mutex_);
    is_started_ = true;
    error_ = error;
    process_ = process;
    if (error == 0) watch_ = watch_process(process);
  }
  changed_.notify_all();
  if (error != 0) return;
  siginfo_t ended = {};
  while (::waitid(P_PID, static_cast<::id_t>(process), &ended, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  ::kill(-process, SIGKILL);  // while the number is still its own
  const std::lock_guard lock(mutex_);
  int status = 0;
  ::waitpid(process, &status, 0);
  status_ = status;
  changed_.notify_all();
}

std::optional<int> ChildProcess::wait(double seconds) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return status_.has_value(); });
  return status_;
}

ChildProcess::~ChildProcess() {
  if (!keeper_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    if (!status_) ::kill(-process_, SIGKILL);
  }
  keeper_.join();
}

Descriptor watch_process(::pid_t process) {
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
}

std::string how_it_ended(std::optional<int> status) {
  if (!status) return "has ended";
  if (WIFSIGNALED(*status)) return "was ended by " + signal_name(WTERMSIG(*status));
  return "ended with exit code " + std::to_string(WEXITSTATUS(*status));
}

}  // namespace levin::data
