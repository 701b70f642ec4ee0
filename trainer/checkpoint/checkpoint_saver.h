#pragma once
#include <levin/core/ranks/comm.h>
#include <levin/core/run/profiler.h>
#include <levin/core/run/run.h>
#include <levin/trainer/checkpoint/checkpoint_state.h>
#include <levin/trainer/checkpoint/checkpoint_writer.h>
#include <levin/trainer/checkpoint/save_request.h>

#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <vector>

namespace levin {

/// Collects the requests for checkpoints and saves them when a run is at a position from which it can resume.
class CheckpointSaver {
 public:
  /// The run as the saver sees it.
  struct Source {
    Comm& comm;
    bool errors_are_warnings;  ///< the option checkpoint_errors is "warn"
    /// Returns the run's checkpoint. Collective: all ranks call it.
    std::function<CheckpointContents(bool weights_only)> contents;
    /// Is told of each file from which a run can resume, on rank 0, before the file is written.
    std::function<void(const std::filesystem::path& file)> on_save;
    std::function<std::filesystem::path()> run_folder;  ///< for messages
    Profiler* profiler = nullptr;
    std::chrono::milliseconds timeout{0};  ///< how long rank 0 waits for the parts of other ranks
  };

  explicit CheckpointSaver(Source source);

  /// Requests a checkpoint. Paths are absolute or relative to the working directory.
  void request(SaveRequest request) { requests_.push_back(std::move(request)); }
  /// Returns whether there is a request, or a failed save whose error has not been reported.
  bool has_work() const { return !requests_.empty() || writer_.has_failed(); }
  bool has_requests() const { return !requests_.empty(); }
  /// Makes the requests of all ranks known to each, for places where some ranks may lack one because they had no batch.
  /// Collective: all ranks call it.
  void share_requests();
  void drop_requests() { requests_.clear(); }
  /// Saves the requested checkpoints. Throws the error of an earlier save, unless errors are warnings. Collective if
  /// there is a request: all ranks call it.
  void save();
  /// Waits until all checkpoints are written. Throws like save.
  void finish();
  /// Waits, and frees the buffers. The saver can still be used.
  void release() { writer_.release(); }

 private:
  CheckpointContents contents(bool weights_only);
  void save(const SaveRequest& request, CheckpointContents contents);
  void report(const std::exception& error) const;

  Source source_;
  std::vector<SaveRequest> requests_ = {};
  CheckpointWriter writer_ = {};
};

}  // namespace levin
