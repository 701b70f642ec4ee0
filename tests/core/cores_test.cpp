// The cores that a process may use.
#include <levin/core/system/cores.h>
#include <sched.h>

#include <thread>

#include "tests/catch.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"

using levin::cores_of_quota;
namespace fs = std::filesystem;

TEST_CASE("the quota of control groups, version 2, is the least on the way down") {
  const TemporaryFolder folder;
  const std::string root = folder.path().string();
  fs::create_directories(folder / "a/b");
  CHECK(cores_of_quota("0::/a/b\n", root) == 0);
  write_bytes(folder / "a/b/cpu.max", "max 100000\n");
  CHECK(cores_of_quota("0::/a/b\n", root) == 0);
  write_bytes(folder / "a/cpu.max", "350000 100000\n");
  CHECK(cores_of_quota("0::/a/b\n", root) == 4);
  write_bytes(folder / "a/b/cpu.max", "50000 100000\n");
  CHECK(cores_of_quota("0::/a/b\n", root) == 1);
  CHECK(cores_of_quota("0::/a\n", root) == 4);
  write_bytes(folder / "cpu.max", "200000 100000\n");
  CHECK(cores_of_quota("0::/\n", root) == 2);
  CHECK(cores_of_quota("0::/a\n", root) == 2);
}

TEST_CASE("the quota of control groups, version 1, is read") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "cpu/job");
  const std::string groups = "5:memory:/other\n2:cpu,cpuacct:/job\n0::/\n";
  CHECK(cores_of_quota(groups, folder.path().string()) == 0);
  write_bytes(folder / "cpu/job/cpu.cfs_period_us", "100000\n");
  write_bytes(folder / "cpu/job/cpu.cfs_quota_us", "-1\n");
  CHECK(cores_of_quota(groups, folder.path().string()) == 0);
  write_bytes(folder / "cpu/job/cpu.cfs_quota_us", "300000\n");
  CHECK(cores_of_quota(groups, folder.path().string()) == 3);
  CHECK(cores_of_quota("nothing\n1:cpuset:/job\n\n", folder.path().string()) == 0);
}

TEST_CASE("the cores of a process are at most those of its affinity") {
  int64_t all = 0, one = 0;
  all = levin::cores_of_process();
  std::thread([&] {  // each thread has its own affinity
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    int first = 0;
    while (!CPU_ISSET(first, &set)) ++first;
    CPU_ZERO(&set);
    CPU_SET(first, &set);
    sched_setaffinity(0, sizeof(set), &set);
    one = levin::cores_of_process();
  })
      .join();
  CHECK(all >= 1);
  CHECK(all <= static_cast<int64_t>(std::thread::hardware_concurrency()));
  CHECK(one == 1);
}
