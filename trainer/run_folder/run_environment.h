#pragma once
#include <filesystem>
#include <string>

namespace levin {

/// What a session of a run trains on, beside what the machine itself tells.
struct SessionPlace {
  std::string where = {};  ///< the devices, for people: "cpu", "2 GPUs"
  std::string strategy = {};
  std::string precision = {};
  int64_t ranks = 1;
};

/// The file in a run's folder that add_session_environment writes.
inline constexpr const char* kEnvironmentFile = "environment.json";

/// Adds a session to `folder/environment.json`: when it began (UTC), levin, LibTorch and compiler, host, system, CPU,
/// cores, threads, memory in bytes, and `place`. The file is {"sessions": [...]}; one that cannot be read is replaced.
/// Throws levin::Error if the file cannot be written.
void add_session_environment(const std::filesystem::path& folder, const SessionPlace& place);

}  // namespace levin
