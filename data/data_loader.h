#pragma once
#include <levin/data/dataset.h>
#include <levin/data/loader.h>
#include <levin/data/sampler.h>
#include <levin/trainer/core/option.h>

#include <concepts>
#include <memory>
#include <optional>
#include <utility>

namespace levin::data {

struct DataLoaderOptions {
  int64_t batch_size = LEVIN_OPTION(batch_size, 1, "Samples per batch and device", {.min = 1});
  bool shuffle = LEVIN_OPTION(shuffle, false, "Draw a new order of the samples for each epoch");
  int64_t num_workers = LEVIN_OPTION(num_workers, 0, "Threads that load ahead; 0: none", {.min = 0});
  bool drop_last = LEVIN_OPTION(drop_last, false, "Leave out a last batch that is not full");
  bool pin_memory = LEVIN_OPTION(pin_memory, false, "Load into page-locked memory, for faster copies to a GPU");
  std::optional<int64_t> seed = LEVIN_OPTION(seed, {}, "Seed of order and random transforms; unset: the run's seed");
};

/// Batches of a dataset. Which samples come when, and their random numbers, depend on (seed, epoch) alone.
///
/// A loader copies as a value: the copy shares the dataset and has its own position.
class DataLoader final : public Loader {
 public:
  /// With `sampler` the order is the sampler's and `options.shuffle` must be false. Throws levin::UsageError for an
  /// option that cannot run, an empty dataset, and a drop_last that leaves no batch.
  explicit DataLoader(std::shared_ptr<const Dataset> dataset, DataLoaderOptions options = {},
                      std::shared_ptr<const Sampler> sampler = nullptr);
  template <std::derived_from<Dataset> D>
  explicit DataLoader(D dataset, DataLoaderOptions options = {}, std::shared_ptr<const Sampler> sampler = nullptr)
      : DataLoader(std::make_shared<const D>(std::move(dataset)), std::move(options), std::move(sampler)) {}

  std::optional<LoadedBatch> next() override;
  std::optional<int64_t> size() const override;
  void set_epoch(int64_t epoch) override;
  void set_default_seed(uint64_t seed) override;
  /// True also for an own sampler: it is replaced.
  bool use_sequential_order() override;
  State state_dict() const override;
  void load_state_dict(const State& state) override;

  const Dataset& dataset() const { return *dataset_; }
  const DataLoaderOptions& options() const { return options_; }

 private:
  std::shared_ptr<const Dataset> dataset_;
  DataLoaderOptions options_;
  std::shared_ptr<const Sampler> sampler_;
  std::shared_ptr<const SampleOrder> order_ = {};  // of this epoch; made by its first batch
  uint64_t seed_;
  int64_t epoch_ = 0, position_ = 0, samples_;
};

}  // namespace levin::data
