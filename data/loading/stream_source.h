#pragma once
#include <levin/data/iterable_dataset.h>
#include <levin/data/loading/batch_source.h>

#include <exception>
#include <memory>

namespace levin::data {

/// Batches of an iterable dataset, in the order in which its stream gives the samples.
class StreamSource final : public BatchSource {
 public:
  /// Throws levin::UsageError for options that only a map-style dataset can follow.
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

 private:
  void open();
  void read_round();
  /// The round after the one that is given, unless it is read on demand; what broke the stream is kept for later.
  void read_ahead();
  /// Whether a round of `count` samples gives batches.
  bool is_enough(int64_t count) const;

  std::shared_ptr<const IterableDataset> dataset_;
  DataLoaderOptions options_;
  // Of the epoch that is read. Where the dataset divides itself among ranks, the key's rank is 0 of 1.
  EpochKey key_ = {};
  int64_t rank_ = 0, world_ = 1;
  EpochPosition position_ = {};
  std::unique_ptr<SampleStream> stream_ = {};
  std::vector<Batch> round_ = {};  // read, not yet given
  std::optional<State> after_round_ = {};
  std::exception_ptr broken_ = {};
  bool ended_ = false;  // on demand: the stream has given its last, or broke
};

}  // namespace levin::data
