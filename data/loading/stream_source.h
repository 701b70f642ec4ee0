#pragma once
#include <levin/data/iterable_dataset.h>
#include <levin/data/loading/batch_source.h>

#include <exception>
#include <memory>

namespace levin::data {

/// Batches of an iterable dataset, in the order of its stream.
class StreamSource final : public BatchSource {
 public:
  /// Throws levin::UsageError for options that only a map-style dataset supports.
  StreamSource(std::shared_ptr<const IterableDataset> dataset, DataLoaderOptions options);

  void begin(const EpochKey& key, const EpochPosition& position) override;
  bool plan(BatchPlan& plan) override;
  void load(BatchPlan& plan, Batch& out) const override;
  std::optional<int64_t> size(const EpochKey& key) const override;
  std::optional<int64_t> samples() const override { return {}; }
  bool in_step() const override { return !dataset_->divides_among_ranks() && !options_.on_demand; }
  bool use_sequential_order() override;
  std::string describe(const BatchPlan& plan) const override;
  std::unique_ptr<BatchSource> clone() const override;
  const std::shared_ptr<const IterableDataset>& dataset() const { return dataset_; }

 private:
  void open();
  void read_round();
  /// Reads the round after the current one, unless the stream is read on demand; keeps an exception of the stream for
  /// later.
  void read_ahead();
  /// Returns whether a round of `count` samples gives batches.
  bool is_enough(int64_t count) const;

  std::shared_ptr<const IterableDataset> dataset_;
  DataLoaderOptions options_;
  // State of the current epoch. If the dataset divides itself among ranks, the key's rank is 0 of 1.
  EpochKey key_ = {};
  int64_t rank_ = 0, world_ = 1;
  EpochPosition position_ = {};
  std::unique_ptr<SampleStream> stream_ = {};
  std::vector<Batch> round_ = {};  // read, not handed out yet
  std::optional<State> after_round_ = {};
  std::exception_ptr broken_ = {};
  bool ended_ = false;  // on demand: the stream has given its last sample, or failed
};

}  // namespace levin::data
