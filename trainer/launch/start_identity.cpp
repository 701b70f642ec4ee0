#include <levin/trainer/launch/start_identity.h>
#include <levin/core/system/host_name.h>
#include <levin/core/system/random_id.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace levin {
namespace {

std::string text_in(const GetEnv& get_env, const char* name) {
  const char* const value = get_env(name);
  return value == nullptr ? "" : value;
}

/// Returns 0 if the variable is not a number.
int64_t count_in(const GetEnv& get_env, const char* name) {
  const std::string text = text_in(get_env, name);
  int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc() && end == text.data() + text.size() ? count : 0;
}

std::string digest_of(const std::string& text) {
  uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  std::ostringstream out;
  out << std::hex << hash;
  return out.str();
}

/// A job keeps its number when it is requeued. Tasks of an array have different identities.
std::string slurm_job(const GetEnv& get_env) {
  const std::string array = text_in(get_env, "SLURM_ARRAY_JOB_ID");
  const std::string job =
      array.empty() ? text_in(get_env, "SLURM_JOB_ID") : array + "_" + text_in(get_env, "SLURM_ARRAY_TASK_ID");
  return job.empty() ? "" : "slurm:" + text_in(get_env, "SLURM_CLUSTER_NAME") + ":" + job;
}

std::string lsf_job(const GetEnv& get_env) {
  const std::string job = text_in(get_env, "LSB_JOBID");
  return job.empty() ? "" : "lsf:" + job + "_" + text_in(get_env, "LSB_JOBINDEX");
}

std::string command_of_this_process() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns the parent's process number, start time and machine.
std::string parent_of_this_process() {
  const ::pid_t parent = ::getppid();
  std::ifstream in("/proc/" + std::to_string(parent) + "/stat");
  std::string stat((std::istreambuf_iterator<char>(in)), {});
  // After the name in brackets, which may have spaces, the start time is the 20th field.
  std::istringstream fields(stat.substr(std::min(stat.size(), stat.rfind(')') + 1)));
  std::string field;
  for (int i = 0; i < 20; ++i) fields >> field;
  return std::to_string(parent) + "." + field + "@" + host_name();
}

}  // namespace

StartIdentity find_start(const GetEnv& get_env, const std::string& command, const std::string& parent) {
  StartIdentity start;
  start.restarts = count_in(get_env, "TORCHELASTIC_RESTART_COUNT") + count_in(get_env, "SLURM_RESTART_COUNT");
  start.id = text_in(get_env, kStartVariable);
  if (!start.id.empty()) return start;
  start.id = slurm_job(get_env);
  if (const std::string name = text_in(get_env, "TORCHELASTIC_RUN_ID"); start.id.empty() && !name.empty()) {
    start.is_unique = name == "none";
    start.id = "torchrun:" + (start.is_unique ? parent : name);
  }
  if (start.id.empty()) start.id = lsf_job(get_env);
  if (!start.id.empty()) start.id += ":" + digest_of(command);
  return start;
}

StartIdentity find_start() {
  return find_start([](const char* name) { return std::getenv(name); }, command_of_this_process(),
                    parent_of_this_process());
}

std::string start_of_ranks() {
  const std::string id = find_start().id;
  return id.empty() ? "levin:" + random_id() : id;
}

}  // namespace levin
