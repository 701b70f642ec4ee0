#include <levin/data/loading/batch_queue.h>
#include <ATen/record_function.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/start_thread.h>
#include <levin/core/system/warnings.h>
#include <levin/data/loading/place_of_error.h>
#include <levin/data/loading/worker_thread.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace levin::data {
namespace {

/// Entries besides those loaded ahead: the caller's batch, and an earlier one that it may still hold.
constexpr size_t kSpareEntries = 2;

size_t most_ahead(const BatchQueueOptions& options) {
  return static_cast<size_t>(options.num_workers * options.prefetch_factor);
}

}  // namespace

/// The state that a detached worker keeps alive after the queue is destroyed.
struct BatchQueue::Shared {
  enum class State { Waiting, Reading, Exhausted };  // Waiting: for the epoch's first `next`
  using Lock = std::unique_lock<std::mutex>;

  Shared(std::shared_ptr<BatchSource> source_, BatchQueueOptions options_)
      : source(std::move(source_)), options(options_), most_ahead(data::most_ahead(options_)) {
    for (size_t i = 0; i < most_ahead + kSpareEntries; ++i) free.push_back(std::make_shared<Entry>());
  }

  EntryPtr take_free();
  /// False at the end of the epoch; errors are stored in the entry.
  bool plan(Entry& entry) const;
  /// Loads the batch of the entry's plan; errors are stored in the entry.
  void load(Entry& entry) const;
  /// The same as a scope that profilers see, under the observer of memory that the loop's thread has.
  void load_observed(Entry& entry, const std::shared_ptr<c10::ThreadLocalDebugInfo>& observer) const;
  void wake_workers();
  std::string waiting_for() const;
  /// Waits until `done` is true; `changed` signals changes. False after timeout_seconds.
  template <class Done>
  bool wait(Lock& lock, std::condition_variable& changed, const Done& done) const;
  Error too_late() const;

  const std::shared_ptr<BatchSource> source;
  const Options options;
  const size_t most_ahead;

  std::mutex mutex = {};  // never held while the dataset runs
  std::condition_variable may_plan = {}, may_take = {}, planned_or_left = {};
  std::deque<EntryPtr> ahead = {};  // planned entries in order; being loaded or done
  std::deque<EntryPtr> free = {};   // oldest handed-out entry first
  State state = State::Waiting;
  std::shared_ptr<c10::ThreadLocalDebugInfo> observer = {};  // of the thread that began the epoch
  bool planning = false, stop = false;
  int64_t threads = 0;
};

BatchQueue::EntryPtr BatchQueue::Shared::take_free() {
  EntryPtr entry = std::move(free.front());
  free.pop_front();
  entry->error = nullptr;
  entry->done = false;
  return entry;
}

bool BatchQueue::Shared::plan(Entry& entry) const {
  entry.planned = false;
  try {
    entry.planned = source->plan(entry.plan);
    return entry.planned;
  } catch (...) {
    entry.error = std::current_exception();
    return true;
  }
}

void BatchQueue::Shared::load(Entry& entry) const {
  try {
    try {
      source->load(entry.plan, entry.batch);
      if (options.pin_memory) entry.pinned = entry.batch.pin_memory();
    } catch (...) {
      rethrow_with_context("data: " + source->describe(entry.plan));
    }
  } catch (...) {
    entry.error = std::current_exception();
    entry.batch = Batch();
  }
}

void BatchQueue::Shared::load_observed(Entry& entry,
                                       const std::shared_ptr<c10::ThreadLocalDebugInfo>& observer_) const {
  c10::ThreadLocalDebugInfo::_forceCurrentDebugInfo(observer_);
  RECORD_USER_SCOPE("load_batch");
  load(entry);
}

void BatchQueue::Shared::wake_workers() {
  if (state == State::Reading && !planning && ahead.size() < most_ahead) may_plan.notify_one();
}

std::string BatchQueue::Shared::waiting_for() const {
  return ahead.empty() ? "the workers ask for the next samples"
                       : "a worker is loading " + source->describe(ahead.front()->plan);
}

template <class Done>
bool BatchQueue::Shared::wait(Lock& lock, std::condition_variable& changed, const Done& done) const {
  if (options.timeout_seconds > 0)
    return changed.wait_for(lock, std::chrono::duration<double>(options.timeout_seconds), done);
  changed.wait(lock, done);
  return true;
}

Error BatchQueue::Shared::too_late() const {
  return Error("data.timeout_seconds: no batch after ", options.timeout_seconds, " seconds; ", waiting_for(),
               "; look for what the dataset waits for, or raise the limit");
}

BatchQueue::BatchQueue(std::shared_ptr<BatchSource> source, BatchQueueOptions options)
    : shared_(std::make_shared<Shared>(std::move(source), options)) {}

BatchQueue::~BatchQueue() {
  bool all_left = true;
  {
    Shared::Lock lock(shared_->mutex);
    shared_->stop = true;
    shared_->may_plan.notify_all();
    const auto left = [&] { return shared_->threads == 0; };
    all_left = gave_up_ ? left() : shared_->wait(lock, shared_->planned_or_left, left);
  }
  if (!all_left && !gave_up_)
    console::warn(c10::str("data.timeout_seconds: a worker has not come back from the dataset for ",
                           shared_->options.timeout_seconds, " seconds, and is left to itself"));
  for (std::thread& thread : threads_) all_left ? thread.join() : thread.detach();
}

void BatchQueue::begin(const EpochKey& key, const EpochPosition& position) {
  Shared& shared = *shared_;
  Shared::Lock lock(shared.mutex);
  shared.state = Shared::State::Waiting;
  if (!shared.wait(lock, shared.planned_or_left, [&] { return !shared.planning; })) {
    gave_up_ = true;
    throw shared.too_late();
  }
  // A worker that still loads an entry keeps that entry; a new entry replaces it.
  for (EntryPtr& entry : shared.ahead)
    shared.free.push_back(entry->done ? std::move(entry) : std::make_shared<Entry>());
  shared.ahead.clear();
  shared.state = Shared::State::Waiting;
  shared.observer = c10::ThreadLocalDebugInfo::current();
  shared.source->begin(key, position);
}

const BatchQueue::Entry* BatchQueue::next() {
  return shared_->options.num_workers == 0 ? load_next() : wait_for_next();
}

const BatchQueue::Entry* BatchQueue::load_next() {
  Shared& shared = *shared_;
  if (handed_out_) shared.free.push_back(std::move(handed_out_));
  EntryPtr entry = shared.take_free();
  if (!shared.plan(*entry)) {
    shared.free.push_front(std::move(entry));
    return nullptr;
  }
  if (entry->planned) shared.load(*entry);
  handed_out_ = std::move(entry);
  return handed_out_.get();
}

const BatchQueue::Entry* BatchQueue::wait_for_next() {
  if (threads_.empty()) start_workers();
  Shared& shared = *shared_;
  Shared::Lock lock(shared.mutex);
  if (handed_out_) shared.free.push_back(std::move(handed_out_));
  if (shared.state == Shared::State::Waiting) shared.state = Shared::State::Reading;
  shared.wake_workers();
  const auto arrived = [&] {
    return shared.ahead.empty() ? shared.state == Shared::State::Exhausted : shared.ahead.front()->done;
  };
  gave_up_ = !shared.wait(lock, shared.may_take, arrived);
  if (gave_up_) throw shared.too_late();
  if (shared.ahead.empty()) return nullptr;
  handed_out_ = std::move(shared.ahead.front());
  shared.ahead.pop_front();
  shared.wake_workers();  // there is room for one more
  return handed_out_.get();
}

void BatchQueue::start_workers() {
  const int64_t workers = shared_->options.num_workers;
  if (shared_->source->loads_here()) warn_of_many_workers(workers);
  for (int64_t i = 0; i < workers; ++i) {
    const auto count = [&](int64_t change) {
      const Shared::Lock lock(shared_->mutex);
      shared_->threads += change;
    };
    count(1);
    try {
      threads_.push_back(start_thread("loading data", [shared = shared_, warnings = console::WarningScope::list()] {
        const console::WarningScope scope(warnings);  // the dataset's warnings are the run's
        work(shared);
      }));
    } catch (const Error& error) {
      count(-1);
      if (threads_.empty()) throw Error("data.num_workers: ", error.what());
      console::warn(c10::str("data.num_workers: ", threads_.size(), " of ", workers, " workers load; ", error.what()));
      return;
    }
  }
}

void BatchQueue::work(const std::shared_ptr<Shared>& shared_pointer) {
  prepare_worker_thread();
  Shared& shared = *shared_pointer;
  Shared::Lock lock(shared.mutex);
  while (true) {
    shared.may_plan.wait(lock, [&] {
      return shared.stop ||
             (shared.state == Shared::State::Reading && !shared.planning && shared.ahead.size() < shared.most_ahead);
    });
    if (shared.stop) break;
    const EntryPtr entry = shared.take_free();
    shared.planning = true;
    lock.unlock();
    const bool more = shared.plan(*entry);
    lock.lock();
    shared.planning = false;
    shared.planned_or_left.notify_all();
    if (!more) {
      shared.free.push_front(entry);
      // Another epoch may be waiting to start.
      if (shared.state == Shared::State::Reading) shared.state = Shared::State::Exhausted;
      shared.may_take.notify_one();
      continue;
    }
    shared.ahead.push_back(entry);
    shared.wake_workers();
    if (entry->planned) {
      const std::shared_ptr<c10::ThreadLocalDebugInfo> observer = shared.observer;
      lock.unlock();
      shared.load_observed(*entry, observer);
      lock.lock();
    }
    entry->done = true;
    if (!shared.ahead.empty() && shared.ahead.front() == entry) shared.may_take.notify_one();
  }
  shared.threads -= 1;
  shared.planned_or_left.notify_all();
}

}  // namespace levin::data
