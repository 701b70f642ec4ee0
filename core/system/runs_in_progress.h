#pragma once
#include <levin/core/system/generator_choice.h>

#include <thread>

namespace levin {

/// How a run draws random numbers.
struct RunDraws {
  GeneratorChoice generator = GeneratorChoice::Auto;
  bool is_seeded = false;
  bool in_own_scope = false;  ///< the run starts inside another one that draws from a generator of its own
  bool on_gpu = false;        ///< GPUs' generators are shared by all runs
};

/// Counts one of the process's runs while it lives, and decides whether it draws from a generator of its own. All
/// threads share LibTorch's default generators, so a seed does not determine what a run draws from them if another
/// thread runs one too. The first time that happens, a warning is printed.
class RunInProgress {
 public:
  explicit RunInProgress(const RunDraws& draws);
  ~RunInProgress();
  RunInProgress(const RunInProgress&) = delete;
  RunInProgress& operator=(const RunInProgress&) = delete;

  /// Returns whether a seeded run is to make a CPU generator of its own.
  bool has_own_generator() const { return has_own_generator_; }

 private:
  bool has_own_generator_ = false, is_shared_ = false, is_seeded_;
  std::thread::id thread_;  ///< the thread that started the run; the run may end in another
};

}  // namespace levin
