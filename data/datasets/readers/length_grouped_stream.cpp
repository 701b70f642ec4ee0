#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/length_groups.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace levin::data {
namespace {

constexpr uint64_t kGroupSeed = 0x5348415244530003;
constexpr int64_t kBatchesOfStretch = 50;

/// The samples of another stream in stretches of some batches, each sorted by length and cut into batches in random
/// order. The state holds where the stretch began in the other stream, and how many of its samples were given.
class LengthGroupedStream final : public SampleStream {
 public:
  LengthGroupedStream(std::unique_ptr<SampleStream> stream, StreamOptions options, LengthOfSample length_of,
                      int64_t batch_size)
      : stream_(std::move(stream)),
        options_(options),
        length_of_(std::move(length_of)),
        batch_size_(batch_size),
        before_(stream_->state_dict()) {}

  std::optional<Batch> next() override {
    if (given_ == stretch_.size()) read_stretch();
    if (given_ == stretch_.size()) return {};
    return std::move(stretch_[order_[given_++]]);
  }

  std::optional<State> state_dict() const override {
    if (!before_) return {};
    return State::dict({{"stream", *before_},
                        {"batch_size", batch_size_},
                        {"stretches", stretches_},
                        {"given", static_cast<int64_t>(given_)}});
  }

  void load_state_dict(const State& state) override {
    if (const int64_t saved = state.at("batch_size").to_int(); saved != batch_size_)
      throw UsageError("data.group_by_length: the state was saved with batches of ", saved, " samples, now they have ",
                       batch_size_, ", which are other groups; resume with the same data.batch_size");
    stream_->load_state_dict(state.at("stream"));
    const int64_t stretches = state.at("stretches").to_int(), given = state.at("given").to_int();
    if (stretches == 0) return;
    stretches_ = stretches - 1;
    read_stretch();
    if (given < 0 || given > static_cast<int64_t>(stretch_.size()))
      throw UsageError("data.group_by_length: the state stands after sample ", given, " of a group of ",
                       stretch_.size(), "; it is of other data");
    given_ = static_cast<size_t>(given);
  }

 private:
  void read_stretch() {
    before_ = stream_->state_dict();
    stretch_.clear();
    given_ = 0;
    const auto most = static_cast<size_t>(batch_size_ * kBatchesOfStretch);
    std::vector<int64_t> lengths;
    while (stretch_.size() < most) {
      std::optional<Batch> sample = stream_->next();
      if (!sample) break;
      lengths.push_back(length_of_(*sample));
      stretch_.push_back(*std::move(sample));
    }
    put_in_order(lengths);
    ++stretches_;
  }

  void put_in_order(const std::vector<int64_t>& lengths) {
    std::vector<size_t> sorted(stretch_.size());
    std::iota(sorted.begin(), sorted.end(), size_t{0});
    std::ranges::stable_sort(sorted, std::greater<>(), [&](size_t sample) { return lengths[sample]; });
    const auto each = static_cast<size_t>(batch_size_);
    std::vector<size_t> batches(sorted.size() / each);
    std::iota(batches.begin(), batches.end(), size_t{0});
    Rng rng(options_.seed ^ kGroupSeed, options_.epoch, stretches_ * options_.world + options_.rank);
    for (size_t i = batches.size(); i > 1; --i)
      std::swap(batches[i - 1], batches[static_cast<size_t>(rng.randint(0, static_cast<int64_t>(i)))]);
    // The longest batch of the first stretch comes first, so that running out of memory happens at the start.
    if (stretches_ == 0 && !batches.empty()) std::iter_swap(batches.begin(), std::ranges::find(batches, size_t{0}));
    order_.clear();
    for (const size_t batch : batches)
      for (size_t i = 0; i < each; ++i) order_.push_back(sorted[batch * each + i]);
    // A batch that is not full stays last; elsewhere it would move the borders of the others.
    order_.insert(order_.end(), sorted.begin() + static_cast<std::ptrdiff_t>(order_.size()), sorted.end());
  }

  std::unique_ptr<SampleStream> stream_;
  StreamOptions options_;
  LengthOfSample length_of_;
  int64_t batch_size_;
  std::optional<State> before_;  // the other stream's, before this stretch
  int64_t stretches_ = 0;
  std::vector<Batch> stretch_ = {};
  std::vector<size_t> order_ = {};
  size_t given_ = 0;
};

class LengthGroupedStreams final : public IterableDataset {
 public:
  LengthGroupedStreams(std::shared_ptr<const IterableDataset> dataset, LengthOfSample length_of, int64_t batch_size)
      : dataset_(std::move(dataset)), length_of_(std::move(length_of)), batch_size_(batch_size) {}

  std::unique_ptr<SampleStream> open(const StreamOptions& options) const override {
    return std::make_unique<LengthGroupedStream>(dataset_->open(options), options, length_of_, batch_size_);
  }
  std::optional<int64_t> size() const override { return dataset_->size(); }
  bool divides_among_ranks() const override { return dataset_->divides_among_ranks(); }
  void make_batch(std::vector<Batch> samples, std::vector<Rng>& rngs, Batch& out) const override {
    dataset_->make_batch(std::move(samples), rngs, out);
  }
  std::vector<std::string> class_names() const override { return dataset_->class_names(); }

 private:
  std::shared_ptr<const IterableDataset> dataset_;
  LengthOfSample length_of_;
  int64_t batch_size_;
};

}  // namespace

DataLoader length_grouped_loader(std::shared_ptr<const IterableDataset> dataset, DataLoaderOptions options,
                                 LengthOfSample length_of) {
  const int64_t batch_size = options.batch_size;
  return DataLoader(std::make_shared<LengthGroupedStreams>(std::move(dataset), std::move(length_of), batch_size),
                    std::move(options));
}

}  // namespace levin::data
