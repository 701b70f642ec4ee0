#include <levin/data/datasets/mixture_dataset.h>
#include <c10/util/StringUtil.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/join_parts.h>
#include <levin/data/datasets/readers/mixture_stream.h>
#include <levin/data/loading/place_of_error.h>

#include <cmath>
#include <map>
#include <utility>

namespace levin::data {
namespace {

/// The samples of a batch that one dataset loads at once.
struct LoadedTogether {
  std::vector<int64_t> positions = {}, indices = {};
  std::vector<Batch> samples = {};
  std::vector<Rng> rngs = {};
  uint64_t seed = 0;
  int64_t epoch = 0;
};

void load(const MixturePart& part, LoadedTogether& asked, Batch& out) {
  if (part.dataset) {
    Indices indices(std::move(asked.indices));
    indices.seed = asked.seed;
    indices.epoch = asked.epoch;
    if (!part.collate) return part.dataset->get_batch(indices, out);
    asked.samples = get_samples(*part.dataset, indices);
  }
  if (part.collate)
    out = part.collate(asked.samples);
  else
    part.stream->make_batch(std::move(asked.samples), asked.rngs, out);
}

}  // namespace

MixturePart::MixturePart(const DataLoader& loader, double share)
    : dataset(loader.dataset()),
      stream(loader.iterable_dataset()),
      weight(share),
      shuffle(loader.options().shuffle),
      sampler(loader.options().sampler),
      collate(loader.options().collate),
      seed(loader.options().seed) {
  if (loader.options().batch_sampler)
    throw UsageError(
        "Mixture: a dataset makes batches of its own (a batch_sampler, or group_by_length), which a mixture would "
        "divide; leave that");
  if (loader.options().on_demand) throw UsageError("Mixture: a dataset is read on demand, which a mixture cannot do");
}

MixtureDataset::MixtureDataset(std::vector<MixturePart> parts, Options options)
    : parts_(std::make_shared<const std::vector<MixturePart>>(std::move(parts))), options_(options) {
  if (parts_->empty()) throw UsageError("Mixture: there are no datasets");
  for (size_t i = 0; i < parts_->size(); ++i) {
    const MixturePart& part = (*parts_)[i];
    if (!part.dataset && !part.stream) throw UsageError("Mixture: dataset ", i, " is a null pointer");
    if (!(part.weight > 0) || !std::isfinite(part.weight))
      throw UsageError("data.weights: the weight of dataset ", i, " is ", part.weight,
                       "; expected a number above 0, or leave the dataset out");
  }
}

std::unique_ptr<SampleStream> MixtureDataset::open(const StreamOptions& options) const {
  return std::make_unique<MixtureStream>(parts_, options_, options);
}

std::optional<int64_t> MixtureDataset::size() const {
  if (!options_.in_sequence && options_.stopping_strategy != StoppingStrategy::AllExhaustedWithoutReplacement)
    return {};
  int64_t sum = 0;
  for (const MixturePart& part : *parts_) {
    const std::optional<int64_t> size = part.sampler   ? part.sampler->size()
                                        : part.dataset ? part.dataset->size()
                                                       : part.stream->size();
    if (!size) return {};
    sum += *size;
  }
  return sum;
}

void MixtureDataset::make_batch(std::vector<Batch> samples, std::vector<Rng>& rngs, Batch& out) const {
  std::map<std::pair<int64_t, int64_t>, LoadedTogether> groups;  // by part and its epoch
  for (size_t i = 0; i < samples.size(); ++i) {
    const auto& sample = samples[i].as<MixtureSample>();
    const bool is_stream = (*parts_)[static_cast<size_t>(sample.part)].stream != nullptr;
    LoadedTogether& group = groups[{sample.part, is_stream ? 0 : sample.epoch}];
    group.positions.push_back(static_cast<int64_t>(i));
    group.indices.push_back(sample.index);
    group.samples.push_back(sample.sample);
    group.rngs.push_back(rngs[i]);
    group.seed = sample.seed;
    group.epoch = sample.epoch;
  }
  std::vector<BatchOfPart> loaded;
  for (auto& [key, group] : groups) {
    BatchOfPart& part = loaded.emplace_back(BatchOfPart{.part = key.first, .positions = std::move(group.positions)});
    try {
      load((*parts_)[static_cast<size_t>(key.first)], group, groups.size() == 1 ? out : part.batch);
    } catch (...) {
      rethrow_with_context(c10::str("dataset ", key.first, " of the mixture"));
    }
  }
  if (groups.size() > 1) out = join_parts(std::move(loaded));
}

std::vector<std::string> MixtureDataset::class_names() const {
  const MixturePart& first = parts_->front();
  return first.dataset ? first.dataset->class_names() : first.stream->class_names();
}

}  // namespace levin::data
