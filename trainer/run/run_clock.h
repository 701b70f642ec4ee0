#pragma once
#include <chrono>

namespace levin {

/// The seconds that a run has lasted, over all of its sessions.
class RunClock {
 public:
  double seconds() const { return before_ + std::chrono::duration<double>(Clock::now() - started_).count(); }
  /// Makes seconds() continue from `seconds`, the total of earlier sessions.
  void continue_from(double seconds) { before_ += seconds - this->seconds(); }

 private:
  using Clock = std::chrono::steady_clock;

  double before_ = 0;  ///< of earlier sessions
  Clock::time_point started_ = Clock::now();
};

}  // namespace levin
