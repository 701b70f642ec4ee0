#include <levin/data/batch_queue.h>
#include <levin/data/place_of_error.h>
#include <levin/data/worker_thread.h>
#include <levin/trainer/core/error.h>

#include <chrono>
#include <utility>

namespace levin::data {
namespace {

/// Entries beyond those loaded ahead: the caller's batch, and one more that it may still hold.
constexpr size_t kSpareEntries = 2;

size_t most_ahead(const BatchQueue::Options& options) {
  return static_cast<size_t>(options.num_workers * options.prefetch_factor);
}

}  // namespace

BatchQueue::BatchQueue(BatchSource& source, Options options)
    : source_(source), options_(options), most_ahead_(most_ahead(options)) {
  for (size_t i = 0; i < most_ahead_ + kSpareEntries; ++i) free_.push_back(std::make_shared<Entry>());
}

BatchQueue::~BatchQueue() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  may_plan_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void BatchQueue::begin(const EpochKey& key, const EpochPosition& position) {
  const std::lock_guard lock(mutex_);
  state_ = State::Waiting;
  // An entry that is still being loaded is its worker's; a new one takes its place.
  for (EntryPtr& entry : ahead_) free_.push_back(entry->done ? std::move(entry) : std::make_shared<Entry>());
  ahead_.clear();
  source_.begin(key, position);
}

const BatchQueue::Entry* BatchQueue::next() { return options_.num_workers == 0 ? load_next() : wait_for_next(); }

BatchQueue::EntryPtr BatchQueue::take_free() {
  EntryPtr entry = std::move(free_.front());
  free_.pop_front();
  entry->error = nullptr;
  entry->done = false;
  return entry;
}

bool BatchQueue::plan(Entry& entry) {
  entry.planned = false;
  try {
    entry.planned = source_.plan(entry.plan);
    return entry.planned;
  } catch (...) {
    entry.error = std::current_exception();
    return true;
  }
}

void BatchQueue::load(Entry& entry) const {
  try {
    try {
      source_.load(entry.plan, entry.batch);
      if (options_.pin_memory) entry.pinned = entry.batch.pin_memory();
    } catch (...) {
      rethrow_with_place("data: " + source_.describe(entry.plan));
    }
  } catch (...) {
    entry.error = std::current_exception();
    entry.batch = Batch();
  }
}

const BatchQueue::Entry* BatchQueue::load_next() {
  if (handed_out_) free_.push_back(std::move(handed_out_));
  EntryPtr entry = take_free();
  if (!plan(*entry)) {
    free_.push_front(std::move(entry));
    return nullptr;
  }
  if (entry->planned) load(*entry);
  handed_out_ = std::move(entry);
  return handed_out_.get();
}

const BatchQueue::Entry* BatchQueue::wait_for_next() {
  if (threads_.empty()) start_workers();
  std::unique_lock lock(mutex_);
  if (handed_out_) free_.push_back(std::move(handed_out_));
  if (state_ == State::Waiting) state_ = State::Reading;
  wake_workers();
  const auto arrived = [&] { return ahead_.empty() ? state_ == State::Exhausted : ahead_.front()->done; };
  if (options_.timeout_seconds > 0) {
    const std::chrono::duration<double> limit(options_.timeout_seconds);
    if (!may_take_.wait_for(lock, limit, arrived)) {
      throw Error("data.timeout_seconds: no batch after ", options_.timeout_seconds, " seconds; ", waiting_for(),
                  "; look for what the dataset waits for, or raise the limit");
    }
  } else {
    may_take_.wait(lock, arrived);
  }
  if (ahead_.empty()) return nullptr;
  handed_out_ = std::move(ahead_.front());
  ahead_.pop_front();
  return handed_out_.get();
}

std::string BatchQueue::waiting_for() const {
  return ahead_.empty() ? "the workers ask for the next samples"
                        : "a worker is loading " + source_.describe(ahead_.front()->plan);
}

void BatchQueue::wake_workers() {
  if (state_ == State::Reading && ahead_.size() < most_ahead_) may_plan_.notify_one();
}

void BatchQueue::start_workers() {
  warn_of_many_workers(options_.num_workers);
  for (int64_t i = 0; i < options_.num_workers; ++i) threads_.emplace_back([this] { work(); });
}

void BatchQueue::work() {
  prepare_worker_thread();
  std::unique_lock lock(mutex_);
  while (true) {
    may_plan_.wait(lock, [&] { return stop_ || (state_ == State::Reading && ahead_.size() < most_ahead_); });
    if (stop_) return;
    const EntryPtr entry = take_free();
    if (!plan(*entry)) {
      state_ = State::Exhausted;
      free_.push_front(entry);
      may_take_.notify_one();
      continue;
    }
    ahead_.push_back(entry);
    wake_workers();
    if (entry->planned) {
      lock.unlock();
      load(*entry);
      lock.lock();
    }
    entry->done = true;
    if (!ahead_.empty() && ahead_.front() == entry) may_take_.notify_one();
  }
}

}  // namespace levin::data
