#pragma once
#include <algorithm>
#include <chrono>

namespace levin {

/// Calls `work` for at least `seconds`, after a first call, and returns the seconds of the fastest call.
template <class Work>
double seconds_of_fastest_call(double seconds, const Work& work) {
  using Clock = std::chrono::steady_clock;
  work();
  double best = 1e9;
  const Clock::time_point begin = Clock::now();
  do {
    const Clock::time_point start = Clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  } while (std::chrono::duration<double>(Clock::now() - begin).count() < seconds);
  return best;
}

}  // namespace levin
