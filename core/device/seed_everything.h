#pragma once
#include <cstdint>

namespace levin {

/// Seeds LibTorch's generators, of the CPU and of all GPUs, so that later draws repeat; inside a run that draws from a
/// generator of its own (TrainerOptions::random_generator), that one in place of the CPU's. Call it before making a
/// module: a trainer's `seed` is set too late for the initial weights. Throws levin::UsageError for a negative seed.
void seed_everything(int64_t seed);

}  // namespace levin
