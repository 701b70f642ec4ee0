#pragma once
#include <levin/core/ranks/comm.h>
#include <levin/core/run/profiler.h>
#include <levin/core/run/run.h>
#include <levin/trainer/checkpoint/checkpoint_writer.h>
#include <levin/trainer/checkpoint/contents.h>
#include <levin/trainer/checkpoint/save_request.h>

#include <chrono>
#include <exception>
#include <filesystem>
#include <vector>

namespace levin {

/// The run whose checkpoints are saved.
class CheckpointSource {
 public:
  /// Returns the run's checkpoint. Collective: all ranks call it.
  virtual CheckpointContents contents(bool weights_only) = 0;
  /// Called for each file from which a run can resume, on rank 0, before the file is written.
  virtual void before_save(const std::filesystem::path& file) = 0;
  /// Returns the run's folder, for messages.
  virtual std::filesystem::path run_folder() const = 0;

 protected:
  ~CheckpointSource() = default;
};

/// Collects the requests for checkpoints and saves them when a run is at a position from which it can resume.
class CheckpointSaver {
 public:
  struct Options {
    Comm& comm;
    bool errors_are_warnings = false;  ///< the option checkpoint_errors is "warn"
    Profiler* profiler = nullptr;
    std::chrono::milliseconds timeout{0};  ///< how long rank 0 waits for the parts of other ranks
  };

  /// `source` must outlive the object.
  CheckpointSaver(CheckpointSource& source, Options options) : source_(source), options_(options) {}

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
  void save(const SaveRequest& request, CheckpointContents contents);
  void report(const std::exception& error) const;

  CheckpointSource& source_;
  Options options_;
  std::vector<SaveRequest> requests_ = {};
  CheckpointWriter writer_ = {};
};

}  // namespace levin
