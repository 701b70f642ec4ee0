#include <levin/data/python/python_samples.h>
#include <levin/core/system/console.h>

#include <algorithm>
#include <utility>

namespace levin::data {

PythonSamples::PythonSamples(std::shared_ptr<PythonHost> host, Split split, PythonData data,
                             PythonWorkerOptions options, std::optional<int64_t> rank)
    : host_(std::move(host)), split_(split), data_(std::move(data)), options_(options), rank_(rank) {}

PythonSamples::Worker PythonSamples::start_worker() const {
  try {
    return host_->start_worker(split_, rank_);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    started_.erase(std::ranges::find(started_, nullptr));
    is_free_.notify_one();
    throw;
  }
}

PythonSamples::Worker PythonSamples::take_worker() const {
  std::unique_lock lock(mutex_);
  is_free_.wait(lock, [&] { return !free_.empty() || std::ssize(started_) < options_.workers; });
  if (!free_.empty()) {
    Worker worker = std::move(free_.back());
    free_.pop_back();
    return worker;
  }
  started_.push_back(nullptr);
  lock.unlock();
  Worker worker = start_worker();
  lock.lock();
  *std::ranges::find(started_, nullptr) = worker.get();
  if (options_.workers > 1) return worker;
  free_.insert(free_.end(), PythonWorker::kMostRequests - 1, worker);
  is_free_.notify_all();
  return worker;
}

void PythonSamples::give_back(const Worker& worker) const {
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(started_, worker.get()) == started_.end()) return;  // another call has found that it ended
  free_.push_back(worker);
  is_free_.notify_one();
}

void PythonSamples::forget(const Worker& worker) const {
  const std::lock_guard lock(mutex_);
  std::erase(free_, worker);
  std::erase(started_, worker.get());
  is_free_.notify_one();
}

bool PythonSamples::may_wait() const {
  const std::lock_guard lock(mutex_);
  return options_.timeout_seconds == 0 && restarts_ < options_.restarts;
}

void PythonSamples::count_restart(const LostPythonWorker& error) const {
  const std::lock_guard lock(mutex_);
  if (restarts_ >= options_.restarts) throw;
  ++restarts_;
  console::warn(c10::str("data: ", error.what(), "; another one loads its batch"));
}

void PythonSamples::get_batch(const Indices& indices, Batch& out) const {
  out = Batch();  // its memory is free for the worker
  while (true) {
    const Worker worker = take_worker();
    try {
      out = worker->ask(indices, options_.timeout_seconds, may_wait());
      return give_back(worker);
    } catch (const LostPythonWorker& error) {
      forget(worker);
      if (error.was_at_this) count_restart(error);
    } catch (const LatePythonWorker&) {
      forget(worker);
      throw;
    } catch (...) {
      give_back(worker);
      throw;
    }
  }
}

Batch PythonSamples::get(int64_t index, Rng& rng) const {
  Indices one(index, 1);
  one.seed = uint64_t{rng()} << 32 | rng();
  Batch batch, sample;
  get_batch(one, batch);
  for (const std::string& name : batch.names()) sample.set(name, batch[name].select(0, 0));
  return sample;
}

}  // namespace levin::data
