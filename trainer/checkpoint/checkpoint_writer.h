#pragma once
#include <c10/core/Event.h>
#include <levin/core/state/format/state_to_pickle.h>
#include <levin/core/state/state.h>
#include <levin/trainer/checkpoint/checkpoint_job.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace levin {

/// Writes checkpoints from a background thread while training continues.
///
/// `save` copies the state's tensors into buffers that are reused by the next save, and returns. GPU tensors are copied
/// on the GPU if there is room, and the thread fetches the copies. The thread writes the file under a temporary name,
/// syncs and renames it, then creates the second name, then removes older files. A killed process therefore leaves at
/// least one intact checkpoint, and no name without a file. A save waits for the previous one. Of a sharded checkpoint
/// each rank's writer writes its part (ShardedSave).
class CheckpointWriter {
 public:
  using Job = CheckpointJob;

  CheckpointWriter() = default;
  /// Waits for the current save, though not for other ranks; its error is lost (call `wait` first).
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// Throws the error of the previous save, and the errors of `state_to_pickle`.
  void save(const State& state, Job job);
  /// Returns whether a save has failed whose error has not been thrown yet.
  bool has_failed() const { return failed_; }
  /// Waits for the current save. Throws its error, once.
  void wait();
  /// Waits, and frees the buffers.
  void release();

 private:
  static at::Tensor place_for(const at::Tensor& storage, std::vector<at::Tensor>& buffers, size_t index,
                              c10::Device device);
  void copy(PickledState live);
  void fetch();
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Job> job_ = {};                ///< waiting, or being written
  PickledState snapshot_ = {};                 ///< of job_
  std::vector<at::Tensor> buffers_ = {};       ///< of the copies, by storage
  std::vector<at::Tensor> host_buffers_ = {};  ///< for the copies made on a GPU
  std::vector<c10::Event> copied_ = {};        ///< one per GPU
  std::exception_ptr error_ = {};
  std::atomic<bool> failed_ = false;  ///< error_ is set
  bool ending_ = false;
  std::thread thread_ = {};
};

}  // namespace levin
