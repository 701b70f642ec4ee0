#pragma once
#include <levin/trainer/profilers/profiler_options.h>

#include <cstdint>

namespace levin {

struct AdvancedProfilerOptions {
  ProfilerFileOptions files = {};
  int64_t operators = LEVIN_OPTION(operators, 20, "Operators of each action that the table shows", {.min = 1});
};

}  // namespace levin
