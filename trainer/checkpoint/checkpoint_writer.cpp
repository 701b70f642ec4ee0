#include <levin/trainer/checkpoint/checkpoint_writer.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>
#include <levin/trainer/core/atomic_file.h>
#include <levin/trainer/core/copy_bytes.h>
#include <levin/trainer/core/state_file.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace levin {

CheckpointWriter::~CheckpointWriter() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void CheckpointWriter::save(const State& state, Job job) {
  // A save may be asked for in a validation, and its buffers are used again outside of one.
  const c10::InferenceMode normal_mode(false);
  const at::NoGradGuard no_grad;
  PickledState live = state_to_pickle(state);
  wait();
  copy(std::move(live));
  const std::lock_guard lock(mutex_);
  job_ = std::move(job);
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  changed_.notify_all();
}

void CheckpointWriter::wait() {
  std::exception_ptr error;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !job_; });
    error = std::exchange(error_, nullptr);
    failed_ = false;
  }
  if (error) std::rethrow_exception(error);
}

void CheckpointWriter::release() {
  wait();
  snapshot_ = {};
  buffers_.clear();
}

/// Buffers are taken in the order of the storages: that of a run's checkpoints seldom changes.
void CheckpointWriter::copy(PickledState live) {
  buffers_.resize(std::max(buffers_.size(), live.storages.size()));
  for (size_t i = 0; i < live.storages.size(); ++i) {
    at::Tensor& storage = live.storages[i];
    at::Tensor& buffer = buffers_[i];
    const auto bytes = static_cast<int64_t>(storage.nbytes());
    if (!buffer.defined() || buffer.numel() < bytes) buffer = at::empty({bytes}, at::TensorOptions(at::kByte));
    const at::Tensor copied = buffer.narrow(0, 0, bytes).view(storage.scalar_type());
    if (storage.is_cpu())
      copy_bytes(copied.data_ptr(), storage.const_data_ptr(), static_cast<size_t>(bytes));
    else
      copied.copy_(storage);  // host sync
    storage = copied;
  }
  snapshot_ = std::move(live);
}

void CheckpointWriter::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return job_ || ending_; });
    if (!job_) return;
    const Job job = *job_;
    lock.unlock();
    std::exception_ptr error;
    try {
      write(snapshot_, job);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error) error_ = error;
    failed_ = static_cast<bool>(error_);
    job_.reset();
    changed_.notify_all();
  }
}

void CheckpointWriter::write(const PickledState& snapshot, const Job& job) {
  save_pickled_state(snapshot, job.path);
  if (!job.link_as.empty()) link_atomically(job.path, job.link_as);
  for (const std::filesystem::path& old : job.then_remove) {
    if (old == job.path || file_stage("remove") != 0) continue;
    std::error_code ignored;  // somebody else may have removed it
    std::filesystem::remove(old, ignored);
  }
}

}  // namespace levin
