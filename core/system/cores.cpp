#include <levin/core/system/cores.h>
#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace levin {
namespace {

namespace fs = std::filesystem;

/// Returns the cores of a CPU quota and period in microseconds, rounded up; 0 if unlimited or the file is missing.
int64_t cores_of(int64_t quota, int64_t period) { return quota > 0 && period > 0 ? (quota + period - 1) / period : 0; }

int64_t number_in(const fs::path& path) {
  int64_t number = 0;
  std::ifstream(path) >> number;
  return number;
}

/// Reads "max 100000" or "150000 100000".
int64_t quota_of_version_2(const fs::path& group) {
  int64_t quota = 0, period = 0;
  std::ifstream(group / "cpu.max") >> quota >> period;
  return cores_of(quota, period);
}

int64_t quota_of_version_1(const fs::path& group) {
  return cores_of(number_in(group / "cpu.cfs_quota_us"), number_in(group / "cpu.cfs_period_us"));
}

/// Returns the lowest limit among a group and its parents up to `root`.
template <class Quota>
int64_t least_up_to(const fs::path& root, const std::string& group, const Quota& quota_of) {
  int64_t least = 0;
  const auto look = [&](const fs::path& folder) {
    const int64_t cores = quota_of(folder);
    if (cores > 0 && (least == 0 || cores < least)) least = cores;
  };
  look(root);  // a container's own group is mounted here
  fs::path folder = root;
  for (const fs::path& part : fs::path(group).relative_path()) look(folder /= part);
  return least;
}

}  // namespace

int64_t cores_of_quota(const std::string& cgroup, const std::string& root) {
  std::istringstream lines(cgroup);
  int64_t least = 0;
  for (std::string line; std::getline(lines, line);) {
    // number:controllers:group
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    int64_t cores = 0;
    if (controllers == ",,") {
      cores = least_up_to(root, group, quota_of_version_2);
    } else if (controllers.find(",cpu,") != std::string::npos) {
      cores = least_up_to(fs::path(root) / "cpu", group, quota_of_version_1);
    }
    if (cores > 0 && (least == 0 || cores < least)) least = cores;
  }
  return least;
}

int64_t cores_of_process() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int64_t cores = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  std::ifstream file("/proc/self/cgroup");
  const std::string groups{std::istreambuf_iterator<char>(file), {}};
  const int64_t quota = cores_of_quota(groups, "/sys/fs/cgroup");
  return std::max<int64_t>(1, quota > 0 ? std::min(quota, cores) : cores);
}

}  // namespace levin
