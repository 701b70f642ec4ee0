#include <levin/trainer/run_folder/run_environment.h>
#include <ATen/Parallel.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/system/cores.h>
#include <levin/core/system/host_name.h>
#include <levin/core/system/json_text.h>
#include <levin/core/system/version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

namespace levin {
namespace {

using Json = nlohmann::ordered_json;

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

/// Returns the CPU's name; empty where the system does not tell it.
std::string cpu_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);)
    if (line.starts_with("model name")) {
      const size_t at = line.find_first_not_of(" \t", line.find(':') + 1);
      return at == std::string::npos ? "" : line.substr(at);
    }
  return {};
}

Json environment(const SessionPlace& place) {
  utsname system = {};
  uname(&system);
  return {{"started", utc_now()},
          {"levin", levin_version()},
          {"libtorch", torch_version()},
          {"compiler", compiler_version()},
          {"host", host_name()},
          {"system", std::string(system.sysname) + " " + system.release + " " + system.machine},
          {"cpu", cpu_name()},
          {"cores", cores_of_process()},
          {"threads", at::get_num_threads()},
          {"memory_bytes", int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE)},
          {"devices", place.where},
          {"strategy", place.strategy},
          {"precision", place.precision},
          {"ranks", place.ranks}};
}

}  // namespace

void add_session_environment(const std::filesystem::path& folder, const SessionPlace& place) {
  const std::filesystem::path path = folder / kEnvironmentFile;
  std::ifstream file(path);
  Json json = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("sessions") || !json["sessions"].is_array())
    json = {{"sessions", Json::array()}};
  json["sessions"].push_back(environment(place));
  write_text_file_atomically(path, json_text(json, 2) + "\n");
}

}  // namespace levin
