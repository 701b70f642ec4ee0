#include <levin/core/system/slurm.h>
#include <spawn.h>
#include <sys/wait.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string_view>

extern char** environ;

namespace levin {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::optional<int64_t> number(const char* name) {
  const std::string text = variable(name);
  int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return {};
  return value;
}

}  // namespace

std::string slurm_job_id() {
  const std::string array = variable("SLURM_ARRAY_JOB_ID");
  return array.empty() ? variable("SLURM_JOB_ID") : array + "_" + variable("SLURM_ARRAY_TASK_ID");
}

int64_t slurm_restarts() { return number("SLURM_RESTART_COUNT").value_or(0); }

std::optional<double> slurm_seconds_left() {
  const std::optional<int64_t> end = number("SLURM_JOB_END_TIME");
  if (!end) return {};
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<double>(*end) - now.count();
}

bool slurm_requeue() {
  std::string program = "scontrol", command = "requeue", job = slurm_job_id();
  char* const arguments[] = {program.data(), command.data(), job.data(), nullptr};
  pid_t process = 0;
  if (::posix_spawnp(&process, "scontrol", nullptr, nullptr, arguments, environ) != 0) return false;
  int status = 0;
  return ::waitpid(process, &status, 0) == process && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace levin
