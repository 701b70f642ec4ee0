#pragma once
#include <thread>

namespace levin {

/// Counts one of a process's runs while it lives. All threads draw from LibTorch's one generator, so that a seed no
/// longer decides what a run draws where another thread runs one too; the first time that happens, it is said.
class RunInProgress {
 public:
  explicit RunInProgress(bool is_seeded);
  ~RunInProgress();
  RunInProgress(const RunInProgress&) = delete;
  RunInProgress& operator=(const RunInProgress&) = delete;

 private:
  bool is_seeded_;
  std::thread::id thread_;  ///< a run may end in another one
};

}  // namespace levin
