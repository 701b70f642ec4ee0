#pragma once
#include <levin/callbacks/callback.h>
#include <levin/core/options/option.h>

#include <string>

namespace levin {

struct OnExceptionCheckpointOptions {
  std::string dirpath = LEVIN_OPTION(
      dirpath, "", "Folder of the file, or s3://, gs:// for a copy there; empty: checkpoints in the run's folder");
  std::string filename = LEVIN_OPTION(filename, "on_exception", "Name of the file");
};

/// Saves a checkpoint of the current state when an exception ends a fit, so that hours of training are not lost. A run
/// resumed from it skips the batch that failed, and is not bitwise exact, unlike one resumed from a ModelCheckpoint's
/// file. Source: lightning.pytorch.callbacks.OnExceptionCheckpoint
class OnExceptionCheckpoint : public Callback {
 public:
  using Options = OnExceptionCheckpointOptions;

  OnExceptionCheckpoint() : OnExceptionCheckpoint(OnExceptionCheckpointOptions()) {}
  /// Throws UsageError for bad options.
  explicit OnExceptionCheckpoint(OnExceptionCheckpointOptions options);
  void on_exception(Run& run, const std::exception& error) override;

 private:
  OnExceptionCheckpointOptions options_;
};

}  // namespace levin
