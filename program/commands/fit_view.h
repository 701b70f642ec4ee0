#pragma once
#include <levin/callbacks/callback.h>
#include <levin/program/cli/command.h>

#include <filesystem>
#include <memory>
#include <utility>

namespace levin::cli {

/// Runs `levin fit` with these words in a process of its own, and shows it on the screen as `levin watch` does, with
/// its output below the curves. What the process has printed is printed at the end, and added to `output.log` in the
/// run's folder. Returns the exit code of the fit. Without a terminal at standard output, and in a rank that a launcher
/// has started, it is an ordinary fit in this process.
int fit_in_view(const Words& words);

/// Tells the view of a fit which folder its run has.
class TellRunFolder : public Callback {
 public:
  /// Returns the callback that the environment asks for; nullptr in a fit without a view.
  static std::shared_ptr<TellRunFolder> of_environment();

  explicit TellRunFolder(std::filesystem::path file) : file_(std::move(file)) {}
  void on_fit_start(Run& run) override;

 private:
  std::filesystem::path file_;
};

}  // namespace levin::cli
