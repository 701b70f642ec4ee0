#pragma once
#include <cstdint>
#include <string>

namespace levin {

/// Cores that this process may use: its affinity (taskset, cgroup's cpuset, SLURM) and, where it is less, the quota of
/// its control groups (a container's limit), rounded up. At least 1.
int64_t cores_of_process();

/// The quota of the control groups of a process in cores, rounded up; 0: none. `cgroup` is the text of
/// /proc/self/cgroup, `root` the folder where the control groups are mounted (/sys/fs/cgroup). All groups above the
/// process's own count as well. Source: cgroups(7), and cpu.max of the kernel's admin-guide/cgroup-v2.
int64_t cores_of_quota(const std::string& cgroup, const std::string& root);

}  // namespace levin
