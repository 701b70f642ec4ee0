#pragma once
#include <levin/trainer/profilers/profiler_options.h>

#include <cstdint>

namespace levin {

struct MemoryProfilerOptions {
  ProfilerFileOptions files = {};
  int64_t tensors = LEVIN_OPTION(tensors, 10, "Places with the largest tensors that are shown", {.min = 0});
};

}  // namespace levin
