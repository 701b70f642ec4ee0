#include <levin/trainer/launch/start_process.h>
#include <fcntl.h>
#include <levin/core/system/error.h>
#include <levin/core/system/file_calls.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>

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

/// Runs in the forked process before exec. It must not allocate, because another thread may have held a lock.
[[noreturn]] void become(const char* program, char** arguments, char** variables, int output, const cpu_set_t* cores,
                         ::pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  ::setpgid(0, 0);
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
  std::vector<char*> argument_pointers = pointers_to(words), variable_pointers = pointers_to(variables);
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
