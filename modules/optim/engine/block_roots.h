#pragma once
#include <cstdint>

namespace levin::optim::detail {

/// Takes the square roots of `count` numbers in place.
using TakeRoots = void (*)(float* numbers, int64_t count);

/// Returns a loop that has the bits of at::sqrt on this processor and takes less time, or null where none has them and
/// where the thread treats denormal numbers as 0. LibTorch takes roots by MKL, which rounds some of them otherwise than
/// the processor's instruction, and has a way for each kind of processor. The bits of NaN may differ. The first call
/// compares the loops with at::sqrt on 110,000 numbers, and takes a millisecond.
TakeRoots roots_like_torch();

}  // namespace levin::optim::detail
