#pragma once
#include <cstdint>
#include <string>

namespace levin {

/// Returns the number of cores that this process may use, at least 1: its affinity (taskset, cgroup's cpuset, SLURM)
/// or, if that is less, the CPU quota of its control groups (a container's limit), rounded up.
int64_t cores_of_process();

/// Returns the CPU quota of a process's control groups in cores, rounded up; 0 if there is none. `cgroup` is the text
/// of /proc/self/cgroup, `root` the folder where the control groups are mounted (/sys/fs/cgroup). The quotas of all
/// parent groups count too. Source: cgroups(7), and cpu.max of the kernel's admin-guide/cgroup-v2.
int64_t cores_of_quota(const std::string& cgroup, const std::string& root);

}  // namespace levin
