#pragma once
#include <cstdint>

namespace levin {

/// Seeds LibTorch's generators, of the CPU and of all GPUs: what is drawn from here on repeats. Call it before a module
/// is made, whose initial weights a trainer's `seed` comes too late for. Throws levin::UsageError for a negative seed.
void seed_everything(int64_t seed);

}  // namespace levin
