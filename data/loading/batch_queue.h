#pragma once
#include <levin/data/loading/batch_source.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace levin::data {

/// A source's batches in order, loaded by threads ahead of the caller or, with no workers, by the caller itself.
///
/// Batches are planned in order, by one thread at a time, loaded by whichever worker is free, and put back in order.
/// What was loaded for an epoch that is given up is dropped. Each batch's memory goes round with it, to be used again.
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

  BatchQueue(std::shared_ptr<BatchSource> source, Options options);
  /// Waits for the batches that are being loaded. With timeout_seconds no longer than that, and not at all where `next`
  /// has given up already: a thread that hangs in a dataset is left to itself, and keeps the source.
  ~BatchQueue();
  BatchQueue(const BatchQueue&) = delete;
  BatchQueue& operator=(const BatchQueue&) = delete;

  /// Begins an epoch; workers load ahead from the first `next` on. Throws levin::Error where a worker has been planning
  /// for timeout_seconds.
  void begin(const EpochKey& key, const EpochPosition& position);
  /// The next batch, valid until the next call; nullptr at the epoch's end. What loading it threw is in its `error`.
  /// Throws levin::Error after timeout_seconds without a batch; a later call waits again.
  const Entry* next();

 private:
  using EntryPtr = std::shared_ptr<Entry>;
  struct Shared;

  static void work(const std::shared_ptr<Shared>& shared);
  void start_workers();
  const Entry* load_next();
  const Entry* wait_for_next();

  std::shared_ptr<Shared> shared_;  // by the caller and its threads
  EntryPtr handed_out_ = {};
  bool gave_up_ = false;  // `next` has waited in vain, and not had a batch since
  std::vector<std::thread> threads_ = {};
};

}  // namespace levin::data
