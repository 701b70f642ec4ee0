#pragma once
#include <levin/data/dataset.h>
#include <levin/data/iterable_dataset.h>
#include <levin/data/loader.h>
#include <levin/data/loader_options.h>
#include <levin/data/loading/batch_source.h>

#include <cstdint>
#include <memory>
#include <optional>

namespace levin::data {

class BatchQueue;

/// Batches of a dataset, loaded by threads ahead of the training or, with num_workers = 0, when they are asked for.
///
/// Which samples come when, and their random numbers, depend on (seed, epoch, index) alone, not on the number of
/// workers. A batch's memory is used again when nobody else holds it. Leaving an epoch early, beginning another and
/// destroying a loader in the middle of one are allowed at any time. What the dataset throws comes out of `next` as
/// levin::Error (a UsageError remains one) with the dataset and the samples; the next call goes on behind the failed
/// batch.
///
/// A loader copies as a value: the copy shares the dataset, has its own position and its own threads.
///
///     data::DataLoader loader(dataset, {.batch_size = 64, .shuffle = true, .num_workers = 2});
///     for (int64_t epoch = 0; epoch < 5; ++epoch) {
///       loader.set_epoch(epoch);
///       while (auto loaded = loader.next()) train(loaded->batch);
///     }
///
/// Source: torch.utils.data.DataLoader.
class DataLoader final : public Loader {
 public:
  /// Throws levin::UsageError for options that contradict each other or are out of bounds, an empty dataset, and a
  /// drop_last that leaves no batch.
  explicit DataLoader(DatasetRef dataset, DataLoaderOptions options = {});
  explicit DataLoader(std::shared_ptr<const IterableDataset> dataset, DataLoaderOptions options = {});
  DataLoader(const DataLoader& other);
  DataLoader(DataLoader&& other) noexcept;
  DataLoader& operator=(const DataLoader& other);
  DataLoader& operator=(DataLoader&& other) noexcept;
  /// Waits for the samples that are being loaded, with timeout_seconds no longer than that: a worker that hangs then is
  /// left to itself, and keeps the dataset.
  ~DataLoader() override;

  /// The next batch. Where the samples of a round were all given to other ranks it is `absent`, and holds one of
  /// theirs. Throws what loading threw, and levin::Error after timeout_seconds.
  std::optional<LoadedBatch> next() override;
  std::optional<int64_t> size() const override;
  void set_epoch(int64_t epoch) override;
  void set_default_seed(uint64_t seed) override;
  /// True also for an own sampler: it is replaced.
  bool use_sequential_order() override;
  /// Of each round of batch_size * world samples, this loader gives the rank-th part: a round's samples are the same
  /// for any number of ranks with the same product. `partial_round` says what becomes of an epoch's last round.
  void shard(int64_t rank, int64_t world) override;
  bool in_step() const override { return key_.world > 1 && source_->in_step(); }
  /// In constant time, as is `load_state_dict` for map-style datasets; another number of ranks can go on from it.
  State state_dict() const override;
  void load_state_dict(const State& state) override;

  const DataLoaderOptions& options() const { return options_; }

 private:
  DataLoader(std::shared_ptr<BatchSource> source, DataLoaderOptions options);
  BatchQueue& queue();
  void begin(const EpochPosition& position);

  DataLoaderOptions options_;
  EpochKey key_ = {};
  EpochPosition position_ = {};  // after the last batch handed out
  std::shared_ptr<BatchSource> source_;
  std::unique_ptr<BatchQueue> queue_;  // made by the first `next`, and begun
};

}  // namespace levin::data
