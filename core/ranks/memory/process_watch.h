#pragma once
#include <cstdint>

namespace levin {

/// Tells whether another process of this machine has ended, also if its parent has not yet been told.
class ProcessWatch {
 public:
  /// Throws levin::Error if there is no such process, or the kernel is older than Linux 5.3.
  explicit ProcessWatch(int64_t process);
  ~ProcessWatch();
  ProcessWatch(ProcessWatch&& other) noexcept;
  ProcessWatch& operator=(ProcessWatch&&) = delete;

  bool has_ended() const;

 private:
  int descriptor_;
};

}  // namespace levin
