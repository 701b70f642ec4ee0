#pragma once
#include <thread>

namespace levin {

/// Counts one of the process's runs while it lives. All threads share LibTorch's one generator, so a seed no longer
/// determines what a run draws if another thread runs one too. The first time that happens, a warning is printed.
class RunInProgress {
 public:
  explicit RunInProgress(bool is_seeded);
  ~RunInProgress();
  RunInProgress(const RunInProgress&) = delete;
  RunInProgress& operator=(const RunInProgress&) = delete;

 private:
  bool is_seeded_;
  std::thread::id thread_;  ///< the thread that started the run; the run may end in another
};

}  // namespace levin
