#include <levin/trainer/checkpoint/checkpoint_writer.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/record_function.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <levin/core/state/copy_bytes.h>
#include <levin/core/system/memory_use.h>
#include <levin/core/system/start_thread.h>
#include <levin/trainer/checkpoint/sharded_save.h>
#include <pthread.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace levin {
namespace {

/// Returns, for each GPU, whether its storages fit on it a second time, counting existing buffers.
std::map<std::string, bool> find_room(const std::vector<at::Tensor>& storages, const std::vector<at::Tensor>& buffers) {
  std::map<std::string, int64_t> missing;
  for (const at::Tensor& storage : storages)
    if (!storage.is_cpu()) missing[storage.device().str()] += static_cast<int64_t>(storage.nbytes());
  for (const at::Tensor& buffer : buffers)
    if (buffer.defined() && missing.contains(buffer.device().str())) missing[buffer.device().str()] -= buffer.numel();
  std::map<std::string, bool> has_room;
  for (const auto& [device, bytes] : missing) {
    const auto memory = device_memory(c10::Device(device));
    has_room[device] = bytes <= 0 || (memory && bytes < memory->free / 2);
  }
  return has_room;
}

}  // namespace

CheckpointWriter::~CheckpointWriter() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    if (job_ && job_->sharded) job_->sharded->cancel();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void CheckpointWriter::save(const State& state, Job job) {
  // A save may come inside a validation, but its buffers are reused outside of inference mode.
  const c10::InferenceMode normal_mode(false);
  const at::NoGradGuard no_grad;
  PickledState live = state_to_pickle(state);
  wait();
  copy(std::move(live));
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = start_thread("writing checkpoints", [this] { work(); });
  job_ = std::move(job);
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
  host_buffers_.clear();
  copied_.clear();
}

/// Returns the start of a buffer as a tensor of the storage's size and dtype. Buffers are used in the order of the
/// storages, which rarely changes within a run.
at::Tensor CheckpointWriter::place_for(const at::Tensor& storage, std::vector<at::Tensor>& buffers, size_t index,
                                       c10::Device device) {
  if (buffers.size() <= index) buffers.resize(index + 1);
  at::Tensor& buffer = buffers[index];
  const auto bytes = static_cast<int64_t>(storage.nbytes());
  if (!buffer.defined() || buffer.numel() < bytes || buffer.device() != device)
    buffer = at::empty({bytes}, at::TensorOptions(at::kByte).device(device));
  return buffer.narrow(0, 0, bytes).view(storage.scalar_type());
}

void CheckpointWriter::copy(PickledState live) {
  const std::map<std::string, bool> has_room = find_room(live.storages, buffers_);
  copied_.clear();
  for (size_t i = 0; i < live.storages.size(); ++i) {
    at::Tensor& storage = live.storages[i];
    const bool stays = !storage.is_cpu() && has_room.at(storage.device().str());
    const at::Tensor copied = place_for(storage, buffers_, i, stays ? storage.device() : c10::Device(c10::kCPU));
    if (storage.is_cpu())
      copy_bytes(copied.data_ptr(), storage.const_data_ptr(), storage.nbytes());
    else
      copied.copy_(storage, /*non_blocking=*/stays);  // host sync if there is no room
    storage = copied;
  }
  for (const auto& [name, room] : has_room) {
    if (!room) continue;
    const c10::Device device(name);
    copied_.emplace_back(device.type()).record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
  }
  snapshot_ = std::move(live);
}

/// Copies the buffers on GPUs to main memory, on a separate stream.
void CheckpointWriter::fetch() {
  for (const c10::Event& event : copied_) event.synchronize();
  for (size_t i = 0; i < snapshot_.storages.size(); ++i) {
    at::Tensor& storage = snapshot_.storages[i];
    if (storage.is_cpu()) continue;
    const c10::impl::VirtualGuardImpl device(storage.device().type());
    const c10::StreamGuard stream(device.getStreamFromGlobalPool(storage.device(), /*isHighPriority=*/false));
    storage = place_for(storage, host_buffers_, i, c10::kCPU).copy_(storage);
  }
}

void CheckpointWriter::work() {
  pthread_setname_np(pthread_self(), "levin-ckpt");
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return job_ || ending_; });
    if (!job_) return;
    const Job job = *job_;
    lock.unlock();
    std::exception_ptr error;
    try {
      RECORD_USER_SCOPE("write_checkpoint");  // seen by profilers
      fetch();
      write_checkpoint(snapshot_, job);
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

}  // namespace levin
