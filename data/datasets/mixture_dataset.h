#pragma once
#include <levin/core/options/choice.h>
#include <levin/core/options/option.h>
#include <levin/data/data_loader.h>
#include <levin/data/dataset.h>
#include <levin/data/iterable_dataset.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace levin {
namespace data {

/// When an epoch of a mixture ends. The words are those of interleave_datasets of Hugging Face's datasets.
enum class StoppingStrategy : uint8_t {
  FirstExhausted,
  AllExhausted,
  AllExhaustedWithoutReplacement,
};

}  // namespace data

template <>
inline constexpr auto kWords<data::StoppingStrategy> = words_of<data::StoppingStrategy>(
    {{"first_exhausted", data::StoppingStrategy::FirstExhausted},
     {"all_exhausted", data::StoppingStrategy::AllExhausted},
     {"all_exhausted_without_replacement", data::StoppingStrategy::AllExhaustedWithoutReplacement}});

namespace data {

/// One of the datasets of a mixture.
struct MixturePart {
  /// A map-style dataset, in a new random order for each epoch if the mixture shuffles.
  MixturePart(DatasetRef mapped, double share = 1) : dataset(std::move(mapped.pointer)), weight(share) {}
  /// A stream.
  MixturePart(std::shared_ptr<const IterableDataset> read, double share = 1) : stream(std::move(read)), weight(share) {}
  /// What a loader reads; of its options shuffle, sampler, collate and seed count. Throws levin::UsageError for a
  /// loader with a batch_sampler or on_demand.
  explicit MixturePart(const DataLoader& loader, double share = 1);

  DatasetPtr dataset = {};
  std::shared_ptr<const IterableDataset> stream = {};
  double weight;
  bool shuffle = true;
  std::shared_ptr<const Sampler> sampler = {};
  Collate collate = {};
  std::optional<int64_t> seed = {};
};

struct MixtureDatasetOptions {
  Choice<StoppingStrategy> stopping_strategy = LEVIN_OPTION(
      stopping_strategy, StoppingStrategy::FirstExhausted,
      "When an epoch ends: as soon as a sample of a dataset is due that has no more (first_exhausted); when this has "
      "happened to each of them, and those that end before start again in another order (all_exhausted); when each "
      "sample has come once (all_exhausted_without_replacement)");
  /// One dataset after another, each sample once, in place of the weights; for evaluation.
  bool in_sequence = false;
};

/// Samples of several datasets, map-style ones and streams, each as often as its weight says.
///
/// With shuffle, the dataset of each sample is drawn with a probability in proportion to its weight; without, the
/// dataset that is furthest behind its share comes next. (seed, epoch) alone decide: all ranks see one order, of which
/// the loader gives each its part, so that a run resumes at a sample on any number of ranks. A dataset that starts
/// again in an epoch draws another order. The samples of a batch must have the same fields, types and shapes, whatever
/// dataset they come from; where they have an `attention_mask`, rows of different lengths are filled up with 0,
/// `target` with -100. Source: interleave_datasets of Hugging Face's datasets.
class MixtureDataset final : public IterableDataset {
 public:
  using Options = MixtureDatasetOptions;
  /// Throws levin::UsageError for no parts, a null dataset, and a weight that is not above 0.
  explicit MixtureDataset(std::vector<MixturePart> parts, Options options = {});

  std::unique_ptr<SampleStream> open(const StreamOptions& options) const override;
  /// Known if each sample comes once and all parts know theirs.
  std::optional<int64_t> size() const override;
  void make_batch(std::vector<Batch> samples, std::vector<Rng>& rngs, Batch& out) const override;
  /// Those of the first part.
  std::vector<std::string> class_names() const override;

 private:
  std::shared_ptr<const std::vector<MixturePart>> parts_;
  Options options_;
};

}  // namespace data
}  // namespace levin
