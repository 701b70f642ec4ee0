#pragma once
#include <levin/data/dataset.h>
#include <levin/data/loading/batch_source.h>

#include <memory>
#include <vector>

namespace levin::data {

/// Batches of a map-style dataset, in a sampler's order or as divided by a batch sampler.
class IndexedSource final : public BatchSource {
 public:
  /// Throws levin::UsageError for an empty dataset, and if the options leave no batch or contradict each other.
  IndexedSource(DatasetPtr dataset, DataLoaderOptions options);

  void begin(const EpochKey& key, const EpochPosition& position) override;
  bool plan(BatchPlan& plan) override;
  void load(BatchPlan& plan, Batch& out) const override;
  bool loads_here() const override;
  std::optional<int64_t> size(const EpochKey& key) const override;
  std::optional<int64_t> samples() const override;
  bool in_step() const override { return true; }
  bool use_sequential_order() override;
  std::string describe(const BatchPlan& plan) const override;
  std::unique_ptr<BatchSource> clone() const override;
  const DatasetPtr& dataset() const { return dataset_; }

 private:
  using Batches = std::vector<std::vector<int64_t>>;

  bool plan_samples(BatchPlan& plan);
  bool plan_listed_batch(BatchPlan& plan);
  /// Returns whether an epoch of `total` samples continues after `position`.
  bool has_more(int64_t position, int64_t total, const EpochKey& key) const;

  DatasetPtr dataset_;
  /// Its `sampler` is set unless there is a batch sampler.
  DataLoaderOptions options_;
  // State of the current epoch.
  EpochKey key_ = {};
  EpochPosition position_ = {};
  std::shared_ptr<const SampleOrder> order_ = {};
  std::shared_ptr<const Batches> batches_ = {};
};

}  // namespace levin::data
