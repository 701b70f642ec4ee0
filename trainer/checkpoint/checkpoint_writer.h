#pragma once
#include <c10/core/Event.h>
#include <levin/trainer/core/state.h>
#include <levin/trainer/core/state_to_pickle.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace levin {

/// Writes checkpoints from a thread of its own, so that training goes on meanwhile.
///
/// `save` copies the state's tensors into memory that is kept for the next save, and returns: the caller is held for
/// one copy. What is on a GPU is copied there, where there is room, and the thread fetches it. The thread writes the
/// file under a temporary name, syncs and renames it; then gives it its second name; then removes older files. So a
/// killed process leaves at least one whole checkpoint, and no name that leads nowhere. A save waits for the one before
/// it.
class CheckpointWriter {
 public:
  struct Job {
    std::filesystem::path path = {};
    std::filesystem::path link_as = {};                   ///< a second name for the file; empty: none
    std::vector<std::filesystem::path> then_remove = {};  ///< files that go once this one is whole
  };

  CheckpointWriter() = default;
  /// Waits for what is being written; its error is lost (call `wait` before).
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// Throws what the save before it has failed with, and as `state_to_pickle`.
  void save(const State& state, Job job);
  /// Whether a save has failed that `wait` or `save` has not yet thrown for.
  bool has_failed() const { return failed_; }
  /// Waits for what is being written; throws what it has failed with, once.
  void wait();
  /// Waits, and gives back the memory that is kept for the next save.
  void release();

 private:
  static at::Tensor place_for(const at::Tensor& storage, std::vector<at::Tensor>& buffers, size_t index,
                              c10::Device device);
  void copy(PickledState live);
  void fetch();
  void work();
  static void write(const PickledState& snapshot, const Job& job);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Job> job_ = {};                ///< waiting, or being written
  PickledState snapshot_ = {};                 ///< of job_
  std::vector<at::Tensor> buffers_ = {};       ///< of the copies, by storage
  std::vector<at::Tensor> host_buffers_ = {};  ///< of what was copied on a GPU
  std::vector<c10::Event> copied_ = {};        ///< on each GPU
  std::exception_ptr error_ = {};
  std::atomic<bool> failed_ = false;  ///< error_ is set
  bool ending_ = false;
  std::thread thread_ = {};
};

}  // namespace levin
