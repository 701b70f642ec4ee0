#include <levin/data/dataset.h>
#include <c10/util/Type.h>
#include <levin/core/system/error.h>
#include <levin/data/loading/copy_rows.h>
#include <levin/data/loading/permutation.h>
#include <levin/data/loading/place_of_error.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <typeinfo>

namespace levin::data {
namespace {

/// The random stream of transforms; datasets use stream 0.
constexpr uint64_t kTransformStream = 1;

Batch sample_of(const Dataset& dataset, const Indices& indices, int64_t i) {
  const int64_t index = indices[i];
  try {
    Rng rng = indices.rng(index);
    return dataset.get(index, rng);
  } catch (...) {
    rethrow_with_context(c10::str("sample ", index));
  }
}

/// Returns indices into another dataset, with the seed and epoch of `indices`.
Indices of_other(const Indices& indices, std::vector<int64_t> others) {
  Indices other(std::move(others));
  other.seed = indices.seed;
  other.epoch = indices.epoch;
  return other;
}

}  // namespace

Batch Dataset::get(int64_t /*index*/, Rng& /*rng*/) const {
  const Dataset& self = *this;
  throw Error(c10::demangle(typeid(self).name()), " overrides neither get(index, rng) nor get_batch(indices, out)");
}

void Dataset::get_batch(const Indices& indices, Batch& out) const { out = Batch::stack(get_samples(*this, indices)); }

Batch sample_of_batch(const Dataset& dataset, int64_t index) {
  Batch one;
  dataset.get_batch(Indices(index, 1), one);
  Batch sample;
  for (const std::string& name : one.names()) sample.set(name, one[name].select(0, 0));
  return sample;
}

std::vector<Batch> get_samples(const Dataset& dataset, const Indices& indices) {
  std::vector<Batch> samples;
  samples.reserve(static_cast<size_t>(indices.size()));
  for (int64_t i = 0; i < indices.size(); ++i) samples.push_back(sample_of(dataset, indices, i));
  return samples;
}

TensorDataset::TensorDataset(Batch tensors, std::vector<std::string> class_names)
    : tensors_(std::move(tensors)),
      names_(tensors_.names()),
      is_pair_(names_ == std::vector<std::string>{"input", "target"}),
      size_(tensors_.size()),
      class_names_(std::move(class_names)) {
  if (tensors_.is_own()) throw UsageError("TensorDataset: needs a batch of named tensors, got a user's own struct");
  for (const std::string& name : names_) {
    const at::Tensor& tensor = tensors_[name];
    if (tensor.dim() == 0 || tensor.size(0) != size_) {
      throw UsageError("TensorDataset: ", size_, " samples, but '", name, "' has the shape ", tensor.sizes(),
                       "; dimension 0 must count the samples");
    }
  }
}

Batch TensorDataset::get(int64_t index, Rng& /*rng*/) const {
  std::vector<Batch::Item> items;
  for (const std::string& name : names_) items.emplace_back(name, tensors_[name].select(0, index));
  return Batch(std::move(items));
}

void TensorDataset::get_batch(const Indices& indices, Batch& out) const {
  const auto rows = [&](std::string_view name) {
    const at::Tensor& from = tensors_[name];
    at::DimVector sizes(from.sizes());
    sizes[0] = indices.size();
    at::Tensor to = from.is_cpu() ? out.take_buffer(name, sizes, from.scalar_type()) : from.new_empty(sizes);
    copy_rows(from, indices, to);
    return to;
  };
  // The common case needs no list of named tensors.
  if (is_pair_) {
    at::Tensor input = rows("input");
    out = Batch(std::move(input), rows("target"));
    return;
  }
  std::vector<Batch::Item> items;
  for (const std::string& name : names_) items.emplace_back(name, rows(name));
  out = Batch(std::move(items));
}

Subset::Subset(DatasetRef dataset, std::vector<int64_t> indices)
    : dataset_(std::move(dataset.pointer)), indices_(std::move(indices)) {
  for (const int64_t index : indices_) {
    if (index < 0 || index >= dataset_->size()) {
      throw UsageError("Subset: index ", index, " is outside the dataset of ", dataset_->size(), " samples");
    }
  }
}

Batch Subset::get(int64_t index, Rng& rng) const { return dataset_->get(indices_[static_cast<size_t>(index)], rng); }

void Subset::get_batch(const Indices& indices, Batch& out) const {
  std::vector<int64_t> others(static_cast<size_t>(indices.size()));
  for (int64_t i = 0; i < indices.size(); ++i)
    others[static_cast<size_t>(i)] = indices_.at(static_cast<size_t>(indices[i]));
  dataset_->get_batch(of_other(indices, std::move(others)), out);
}

ConcatDataset::ConcatDataset(std::vector<DatasetRef> datasets) {
  if (datasets.empty()) throw UsageError("ConcatDataset: the list of datasets is empty");
  int64_t end = 0;
  for (DatasetRef& dataset : datasets) {
    ends_.push_back(end += dataset.pointer->size());
    datasets_.push_back(std::move(dataset.pointer));
  }
}

ConcatDataset::Place ConcatDataset::place(int64_t index) const {
  const auto end = std::ranges::upper_bound(ends_, index);
  if (index < 0 || end == ends_.end()) throw Error("ConcatDataset: no sample ", index, " among ", size());
  const auto number = static_cast<size_t>(end - ends_.begin());
  return {number, number == 0 ? index : index - ends_[number - 1]};
}

Batch ConcatDataset::get(int64_t index, Rng& rng) const {
  const Place where = place(index);
  return datasets_[where.dataset]->get(where.index, rng);
}

void ConcatDataset::get_batch(const Indices& indices, Batch& out) const {
  // Each dataset loads its samples at once; then they are put back into the requested order.
  std::vector<std::vector<int64_t>> asked(datasets_.size()), positions(datasets_.size());
  for (int64_t i = 0; i < indices.size(); ++i) {
    const Place where = place(indices[i]);
    asked[where.dataset].push_back(where.index);
    positions[where.dataset].push_back(i);
  }
  std::vector<Batch> parts;
  std::vector<int64_t> from(static_cast<size_t>(indices.size()));
  int64_t row = 0;
  for (size_t number = 0; number < datasets_.size(); ++number) {
    if (asked[number].empty()) continue;
    Indices of_part = of_other(indices, std::move(asked[number]));
    of_part.seed += number << 32;  // samples of the same index in two datasets draw different numbers
    for (const int64_t position : positions[number]) from[static_cast<size_t>(position)] = row++;
    if (positions[number].size() == from.size()) return datasets_[number]->get_batch(of_part, out);
    datasets_[number]->get_batch(of_part, parts.emplace_back());
  }
  out = Batch::gather(parts, at::kCPU).index_select(Indices(std::move(from)).tensor());
}

TransformedDataset::TransformedDataset(DatasetRef dataset, TransformPtr transform)
    : dataset_(std::move(dataset.pointer)), transform_(std::move(transform)) {
  if (!transform_) throw UsageError("TransformedDataset: got a null pointer to a transform");
}

void TransformedDataset::get_batch(const Indices& indices, Batch& out) const {
  dataset_->get_batch(indices, out);
  std::vector<Rng> rngs;
  rngs.reserve(static_cast<size_t>(indices.size()));
  for (const int64_t index : indices) rngs.push_back(indices.rng(index, kTransformStream));
  (*transform_)(out, rngs);
}

std::vector<Subset> random_split(DatasetRef dataset, const std::vector<double>& lengths, int64_t seed) {
  const int64_t size = dataset.pointer->size();
  const double sum = std::accumulate(lengths.begin(), lengths.end(), 0.0);
  const bool fractions = std::abs(sum - 1) < 1e-6;
  std::vector<int64_t> counts;
  for (const double length : lengths) {
    if (!(length >= 0) || (!fractions && length != std::floor(length))) {
      throw UsageError("random_split: a length must be a count of samples or a fraction, got ", length);
    }
    counts.push_back(static_cast<int64_t>(fractions ? std::floor(length * static_cast<double>(size) + 1e-9) : length));
  }
  int64_t rest = size - std::accumulate(counts.begin(), counts.end(), int64_t{0});
  if (lengths.empty() || (!fractions && rest != 0)) {
    throw UsageError("random_split: the lengths add up to ", sum, ", the dataset has ", size,
                     " samples; give counts with this sum, or fractions with the sum 1");
  }
  for (size_t i = 0; rest > 0; ++i, --rest) ++counts[i % counts.size()];

  const Permutation order(size, static_cast<uint64_t>(seed));
  std::vector<Subset> parts;
  int64_t position = 0;
  for (const int64_t count : counts) {
    std::vector<int64_t> indices(static_cast<size_t>(count));
    for (int64_t& index : indices) index = order[position++];
    parts.emplace_back(dataset, std::move(indices));
  }
  return parts;
}

}  // namespace levin::data
