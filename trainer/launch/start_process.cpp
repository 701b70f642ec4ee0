#include <levin/trainer/launch/start_process.h>
#include <fcntl.h>
#include <levin/core/system/error.h>
#include <levin/core/system/exec.h>
#include <levin/core/system/file_calls.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>

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

/// Runs in the forked process before exec. It must not allocate, because another thread may have held a lock.
[[noreturn]] void become(const char* program, char** arguments, char** variables, int output, const cpu_set_t* cores,
                         ::pid_t parent) {
  follow_parent(parent);
  if (output >= 0) {
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
  }
  if (cores != nullptr) ::sched_setaffinity(0, sizeof(*cores), cores);
  ::execve(program, arguments, variables);
  ::_exit(127);
}

}  // namespace

::pid_t start_process(const ProcessStart& start) {
  std::vector<std::string> variables = environment_with(start.variables);
  const bool is_own = start.words.empty();
  std::vector<std::string> words = is_own ? own_command() : start.words;
  const std::string program = !start.program.empty() ? start.program : is_own ? "/proc/self/exe" : words.front();
  std::vector<char*> argument_pointers = exec_pointers(words), variable_pointers = exec_pointers(variables);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (const int core : start.cores) CPU_SET(core, &cores);
  const int mode = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (start.appends ? O_APPEND : O_TRUNC);
  const int output = start.output.empty() ? -1 : open_file(start.output.c_str(), mode, 0666);
  if (!start.output.empty() && output < 0)
    throw UsageError(start.output.string(), ": cannot be written: ", std::generic_category().message(errno));
  const ::pid_t parent = ::getpid();
  const ::pid_t id = ::fork();
  if (id == 0)
    become(program.c_str(), argument_pointers.data(), variable_pointers.data(), output,
           start.cores.empty() ? nullptr : &cores, parent);
  const int error = errno;
  if (output >= 0) ::close(output);
  if (id < 0)
    throw Error(start.called, " cannot be started: ", std::generic_category().message(error),
                "; this user, container or machine may have no more processes and threads (ulimit -u, pids.max)");
  return id;
}

}  // namespace levin
