#pragma once
#include <levin/core/options/option.h>

#include <cstdint>
#include <string>

namespace levin {

/// Where a profiler writes.
struct ProfilerFileOptions {
  std::string dirpath = LEVIN_OPTION(dirpath, "", "Folder of the profiler's files; empty: the run's folder");
  std::string filename =
      LEVIN_OPTION(filename, "", "Beginning of the files' names; empty: the call and the profiler, such as fit-simple");
};

struct SimpleProfilerOptions {
  ProfilerFileOptions files = {};
  bool extended =
      LEVIN_OPTION(extended, true, "Show the number of calls, the time outside of inner actions and shares");
};

}  // namespace levin
