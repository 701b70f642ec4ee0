#pragma once
#include <levin/data/loading/batch_source.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace levin::data {

struct BatchQueueOptions {
  int64_t num_workers = 0, prefetch_factor = 2;
  double timeout_seconds = 0;
  bool pin_memory = false;
};

/// Delivers a source's batches in order, loaded ahead by worker threads or, with no workers, by the caller.
///
/// Batches are planned in order by one thread at a time, loaded by any free worker, and delivered in order. If an epoch
/// is abandoned, its loaded batches are dropped. The memory of a delivered batch is reused for a later one.
class BatchQueue {
 public:
  using Options = BatchQueueOptions;
  /// A batch and the plan it was made from; reused for a later batch.
  struct Entry {
    BatchPlan plan = {};
    Batch batch = {}, pinned = {};
    std::exception_ptr error = {};
    bool planned = false;  // if false, `plan` is not valid
    bool done = false;
  };

  BatchQueue(std::shared_ptr<BatchSource> source, BatchQueueOptions options);
  /// Waits for the batches that are being loaded, at most timeout_seconds if that is set, and not at all if `next` has
  /// already timed out. A thread that hangs in a dataset is detached and keeps the source alive.
  ~BatchQueue();
  BatchQueue(const BatchQueue&) = delete;
  BatchQueue& operator=(const BatchQueue&) = delete;

  /// Starts an epoch; workers load ahead from the first `next` on. Throws levin::Error if a worker has been planning
  /// for timeout_seconds.
  void begin(const EpochKey& key, const EpochPosition& position);
  /// Returns the next batch, valid until the next call, or nullptr at the end of the epoch. An exception from loading
  /// it is in its `error`. Throws levin::Error after timeout_seconds without a batch; a later call waits again.
  const Entry* next();

 private:
  using EntryPtr = std::shared_ptr<Entry>;
  struct Shared;

  static void work(const std::shared_ptr<Shared>& shared);
  void start_workers();
  const Entry* load_next();
  const Entry* wait_for_next();

  std::shared_ptr<Shared> shared_;  // shared by the caller and the worker threads
  EntryPtr handed_out_ = {};
  bool gave_up_ = false;  // the last `next` timed out
  std::vector<std::thread> threads_ = {};
};

}  // namespace levin::data
