#pragma once
#include <levin/trainer/profilers/profiler_options.h>

#include <cstdint>

namespace levin {

struct TraceProfilerOptions {
  ProfilerFileOptions files = {};
  int64_t wait = LEVIN_OPTION(wait, 1, "Steps of each cycle that are not recorded", {.min = 0});
  int64_t warmup = LEVIN_OPTION(warmup, 1, "Steps of each cycle after these that are recorded and dropped", {.min = 0});
  int64_t active = LEVIN_OPTION(active, 3, "Steps of each cycle after these that are recorded and written", {.min = 1});
  int64_t repeat = LEVIN_OPTION(repeat, 1, "Cycles, each with a file; 0: until the run ends", {.min = 0});
};

}  // namespace levin
