#include <levin/core/system/memory_use.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace levin {
namespace {

/// Returns the value after `key` in a file of lines such as "VmRSS:  1024 kB", in bytes.
int64_t kilobytes_in(const char* file, const std::string& key) {
  std::ifstream lines(file);
  for (std::string word; lines >> word;) {
    int64_t kilobytes = 0;
    if (word == key && lines >> kilobytes) return kilobytes * 1024;
    lines.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

/// Returns the number in a file; nothing if the file is missing or contains "max".
std::optional<int64_t> bytes_in(const char* file) {
  int64_t number = 0;
  return std::ifstream(file) >> number ? std::optional(number) : std::nullopt;
}

/// Returns the bytes that the control group may still allocate, if it has a limit.
std::optional<int64_t> available_in_group() {
  for (const auto& [limit_file, use_file] :
       {std::pair("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        std::pair("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes")}) {
    const auto limit = bytes_in(limit_file), use = bytes_in(use_file);
    if (limit && use) return std::max<int64_t>(0, *limit - *use);
  }
  return {};
}

}  // namespace

HostMemory host_memory() {
  HostMemory memory{.resident = kilobytes_in("/proc/self/status", "VmRSS:"),
                    .resident_peak = kilobytes_in("/proc/self/status", "VmHWM:"),
                    .available = kilobytes_in("/proc/meminfo", "MemAvailable:")};
  if (const auto in_group = available_in_group()) memory.available = std::min(memory.available, *in_group);
  return memory;
}

}  // namespace levin
