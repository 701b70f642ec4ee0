#pragma once
#include <levin/data/batch_source.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace levin::data {

/// A source's batches in order, loaded by threads ahead of the caller or, with no workers, by the caller itself.
///
/// Batches are planned in order under a lock, loaded by whichever worker is free, and put back in order. What was
/// loaded for an epoch that is given up is dropped. Each batch's memory goes round with it, to be used again.
class BatchQueue {
 public:
  struct Options {
    int64_t num_workers = 0, prefetch_factor = 2;
    double timeout_seconds = 0;
    bool pin_memory = false;
  };
  /// What a batch was made of, and the batch; used again for a later one.
  struct Entry {
    BatchPlan plan = {};
    Batch batch = {}, pinned = {};
    std::exception_ptr error = {};
    bool planned = false;  // otherwise `plan` is of no meaning
    bool done = false;
  };

  /// `source` must outlive the queue.
  BatchQueue(BatchSource& source, Options options);
  /// Waits for the batches that are being loaded.
  ~BatchQueue();
  BatchQueue(const BatchQueue&) = delete;
  BatchQueue& operator=(const BatchQueue&) = delete;

  /// Begins an epoch; workers load ahead from the first `next` on.
  void begin(const EpochKey& key, const EpochPosition& position);
  /// The next batch, valid until the next call; nullptr at the epoch's end. What loading it threw is in its `error`.
  /// Throws levin::Error after timeout_seconds without a batch; a later call waits again.
  const Entry* next();

 private:
  using EntryPtr = std::shared_ptr<Entry>;
  enum class State { Waiting, Reading, Exhausted };  // Waiting: for the epoch's first `next`

  void work();
  void start_workers();
  EntryPtr take_free();
  /// False at the epoch's end; errors go into the entry.
  bool plan(Entry& entry);
  /// Loads what the entry's plan says; errors go into the entry.
  void load(Entry& entry) const;
  const Entry* load_next();
  const Entry* wait_for_next();
  void wake_workers();
  std::string waiting_for() const;

  BatchSource& source_;
  const Options options_;
  const size_t most_ahead_;

  mutable std::mutex mutex_ = {};
  std::condition_variable may_plan_ = {}, may_take_ = {};
  std::deque<EntryPtr> ahead_ = {};  // planned, in order; being loaded or done
  std::deque<EntryPtr> free_ = {};   // the one handed out longest ago in front
  EntryPtr handed_out_ = {};
  State state_ = State::Waiting;
  bool stop_ = false;
  std::vector<std::thread> threads_ = {};
};

}  // namespace levin::data
