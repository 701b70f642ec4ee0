#include <levin/data/python/python_samples.h>
#include <levin/core/system/console.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace levin::data {
namespace {

nlohmann::ordered_json request_of(const Indices& indices) {
  nlohmann::ordered_json numbers = nlohmann::ordered_json::array();
  for (const int64_t index : indices) numbers.push_back(index);
  return {{"indices", std::move(numbers)}, {"seed", indices.seed}, {"epoch", indices.epoch}};
}

}  // namespace

PythonSamples::PythonSamples(std::shared_ptr<PythonHost> host, Split split, PythonData data,
                             PythonWorkerOptions options, std::optional<int64_t> rank)
    : host_(std::move(host)), split_(split), data_(std::move(data)), options_(options), rank_(rank) {}

std::unique_ptr<PythonWorker> PythonSamples::take_worker() const {
  std::unique_lock lock(mutex_);
  is_free_.wait(lock, [&] { return !free_.empty() || started_ < options_.workers; });
  if (!free_.empty()) {
    std::unique_ptr<PythonWorker> worker = std::move(free_.back());
    free_.pop_back();
    return worker;
  }
  ++started_;
  lock.unlock();
  try {
    return host_->start_worker(split_, rank_);
  } catch (...) {
    give_back(nullptr);
    throw;
  }
}

/// Null: one that has ended.
void PythonSamples::give_back(std::unique_ptr<PythonWorker> worker) const {
  const std::lock_guard lock(mutex_);
  if (worker)
    free_.push_back(std::move(worker));
  else
    --started_;
  is_free_.notify_one();
}

void PythonSamples::count_restart(const LostPythonWorker& error) const {
  const std::lock_guard lock(mutex_);
  if (restarts_ >= options_.restarts) throw;
  ++restarts_;
  console::warn(c10::str("data: ", error.what(), "; another one loads its batch"));
}

void PythonSamples::get_batch(const Indices& indices, Batch& out) const {
  out = Batch();  // its memory is free for the worker
  nlohmann::ordered_json request = request_of(indices);
  while (true) {
    std::unique_ptr<PythonWorker> worker = take_worker();
    try {
      worker->send(request);
      out = worker->batch(worker->receive(options_.timeout_seconds));
      give_back(std::move(worker));
      return;
    } catch (const LostPythonWorker& error) {
      give_back(nullptr);
      count_restart(error);
    } catch (const LatePythonWorker&) {
      give_back(nullptr);
      throw;
    } catch (...) {
      give_back(std::move(worker));
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
