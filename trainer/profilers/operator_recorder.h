#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace levin {

/// An operator of LibTorch, or a named scope of a thread, that has ended.
struct OperatorEvent {
  std::string name;
  bool is_scope;         ///< a named scope (RECORD_USER_SCOPE), such as that of a loader's worker
  int thread;            ///< the kernel's number
  int64_t began, ended;  ///< nanoseconds of std::chrono::steady_clock
};

/// Records the operators that LibTorch runs in all threads of the process while the object lives. There is one recorder
/// at a time: a second one records nothing.
class OperatorRecorder {
 public:
  OperatorRecorder();
  ~OperatorRecorder();
  OperatorRecorder(const OperatorRecorder&) = delete;
  OperatorRecorder& operator=(const OperatorRecorder&) = delete;

  bool is_recording() const { return recording_; }
  /// Returns the events until now and forgets them.
  std::vector<OperatorEvent> take();

 private:
  bool recording_;
  uint64_t handle_ = 0;
};

/// Returns the number that the kernel gives to the calling thread.
int number_of_thread();
/// Returns the name that a thread had when it first called number_of_thread; empty if it never did.
std::string name_of_thread(int number);

}  // namespace levin
