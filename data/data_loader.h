#pragma once
#include <levin/data/dataset.h>
#include <levin/data/iterable_dataset.h>
#include <levin/data/loader.h>
#include <levin/data/loader_options.h>
#include <levin/data/loading/batch_source.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>

namespace levin::data {

class BatchQueue;

/// Batches of a dataset, loaded ahead by worker threads or, with num_workers = 0, on request.
///
/// The order of samples and their random numbers depend on (seed, epoch, index) alone, not on the number of workers.
/// The memory of a batch is reused once it has no other owner. It is safe at any time to leave an epoch early, to start
/// another, and to destroy the loader in the middle of one. An exception from the dataset leaves `next` as levin::Error
/// (a UsageError stays one) that names the dataset and the samples; the next call continues after the failed batch.
///
/// A loader copies as a value: the copy shares the dataset, and has its own position and threads.
///
///     data::DataLoader loader(dataset, {.batch_size = 64, .shuffle = true, .num_workers = 2});
///     for (int64_t epoch = 0; epoch < 5; ++epoch) {
///       loader.set_epoch(epoch);
///       while (auto loaded = loader.next()) train(loaded->batch);
///     }
///     for (const data::LoadedBatch& loaded : loader) train(loaded.batch);  // the next epoch
///
/// Source: torch.utils.data.DataLoader.
class DataLoader final : public Loader {
 public:
  class Iterator;

  /// Throws levin::UsageError for options that contradict each other or are out of bounds, for an empty dataset, and if
  /// drop_last leaves no batch.
  explicit DataLoader(DatasetRef dataset, DataLoaderOptions options = {});
  explicit DataLoader(std::shared_ptr<const IterableDataset> dataset, DataLoaderOptions options = {});
  DataLoader(const DataLoader& other);
  DataLoader(DataLoader&& other) noexcept;
  DataLoader& operator=(const DataLoader& other);
  DataLoader& operator=(DataLoader&& other) noexcept;
  /// Waits for the samples that are being loaded, at most timeout_seconds if that is set: a worker that still hangs is
  /// detached and keeps the dataset alive.
  ~DataLoader() override;

  /// Returns the next batch. If all samples of a round went to other ranks, the batch is `absent` and holds some of
  /// theirs. Throws the exception of loading, and levin::Error after timeout_seconds.
  std::optional<LoadedBatch> next() override;
  std::optional<int64_t> size() const override;
  void set_epoch(int64_t epoch) override;
  void set_default_seed(uint64_t seed) override;
  /// Also replaces a user's own sampler, and returns true; false with a batch sampler.
  bool use_sequential_order() override;
  /// Gives this loader part `rank` of each round of batch_size * world samples. A round has the same samples for all
  /// combinations of batch size and ranks with the same product. `partial_round` defines how an epoch's last round is
  /// divided.
  void shard(int64_t rank, int64_t world) override;
  bool in_step() const override { return key_.world > 1 && source_->in_step(); }
  /// Takes constant time, as does `load_state_dict` for map-style datasets; a run with another number of ranks can
  /// resume from the state.
  State state_dict() const override;
  void load_state_dict(const State& state) override;

  /// Starts an epoch for a range-for: the one that set_epoch or a loaded state has set, if none of its batches has been
  /// handed out since; otherwise the one after the present epoch.
  Iterator begin();
  std::default_sentinel_t end() const { return {}; }

  const DataLoaderOptions& options() const { return options_; }
  /// Returns what is read: one of the two, the other is null.
  DatasetPtr dataset() const;
  std::shared_ptr<const IterableDataset> iterable_dataset() const;

 private:
  DataLoader(std::shared_ptr<BatchSource> source, DataLoaderOptions options);
  BatchQueue& queue();
  void go_to(const EpochPosition& position);

  DataLoaderOptions options_;
  EpochKey key_ = {};
  EpochPosition position_ = {};  // after the last batch handed out
  bool handed_out_ = false;      // a batch since set_epoch or load_state_dict
  std::shared_ptr<BatchSource> source_;
  std::unique_ptr<BatchQueue> queue_;  // made by the first `next`, with the epoch started
};

/// An input iterator over the batches of an epoch.
class DataLoader::Iterator {
 public:
  using value_type = LoadedBatch;
  using difference_type = std::ptrdiff_t;

  explicit Iterator(DataLoader& loader) : loader_(&loader), loaded_(loader.next()) {}
  const LoadedBatch& operator*() const { return *loaded_; }
  const LoadedBatch* operator->() const { return &*loaded_; }
  Iterator& operator++() {
    loaded_ = loader_->next();
    return *this;
  }
  void operator++(int) { ++*this; }
  bool operator==(std::default_sentinel_t) const { return !loaded_; }

 private:
  DataLoader* loader_;
  std::optional<LoadedBatch> loaded_;
};

}  // namespace levin::data
