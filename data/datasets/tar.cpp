#include <levin/data/datasets/tar.h>
#include <levin/core/system/error.h>
#include <levin/data/data_loader.h>
#include <levin/data/datasets/readers/tar_shards.h>

#include <cstring>
#include <utility>

namespace levin::data {
namespace {

using Values = TarDecoder::Values;

/// From this many bytes on, a read() costs less than the page faults of a mapped file.
constexpr size_t kLeastRead = 1 << 14;

std::string names_of(const Values& values) {
  std::string names;
  for (const auto& [name, tensor] : values) names += (names.empty() ? "" : ", ") + name;
  return names;
}

std::string place(const TarSample& sample) {
  return *sample.shard + ": byte " + std::to_string(sample.members.front().offset) + ": sample " + sample.key;
}

void check_alike(const TarSample& first, const Values& expected, const TarSample& sample, const Values& values) {
  bool same_names = values.size() == expected.size();
  for (size_t i = 0; same_names && i < values.size(); ++i) same_names = values[i].first == expected[i].first;
  if (!same_names) {
    throw UsageError(place(sample), " has ", names_of(values), ", but sample ", first.key, " of the same batch has ",
                     names_of(expected));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const at::Tensor &a = values[i].second, &b = expected[i].second;
    if (a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type()) continue;
    throw UsageError(place(sample), ": '", values[i].first, "' is ", a.scalar_type(), " ", a.sizes(),
                     ", but in sample ", first.key, " of the same batch ", b.scalar_type(), " ", b.sizes(),
                     "; set transforms that give all one size");
  }
}

void copy_sample(const MappedFile& file, const at::Tensor& value, const at::Tensor& buffer, size_t row) {
  if (!value.is_contiguous()) {
    buffer.select(0, static_cast<int64_t>(row)).copy_(value);
    return;
  }
  const size_t bytes = value.nbytes();
  if (bytes == 0) return;
  std::byte* const to = static_cast<std::byte*>(buffer.mutable_data_ptr()) + row * bytes;
  if (bytes >= kLeastRead && file.holds(value.const_data_ptr(), static_cast<int64_t>(bytes))) {
    file.read(value.const_data_ptr(), static_cast<int64_t>(bytes), to);
  } else {
    std::memcpy(to, value.const_data_ptr(), bytes);
  }
}

std::vector<int64_t> with_samples(int64_t samples, at::IntArrayRef sizes) {
  std::vector<int64_t> shape = {samples};
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  return shape;
}

}  // namespace

TarDataset::TarDataset(const std::vector<std::string>& shards, Options options, const std::string& option)
    : options_(std::move(options)), decoder_(options_.members) {
  auto names = std::make_shared<std::vector<std::shared_ptr<const std::string>>>();
  for (std::string& file : find_shards(shards, option)) {
    names->push_back(std::make_shared<const std::string>(std::move(file)));
  }
  shards_ = std::move(names);
}

std::unique_ptr<SampleStream> TarDataset::open(const StreamOptions& options) const {
  return std::make_unique<TarStream>(shards_, options, options_.shuffle_buffer);
}

TarDecoder::Values TarDataset::values_of(const TarSample& sample, Rng& rng) const {
  Values values = decoder_.decode(sample);
  if (!options_.transform) return values;
  // A transform may write to its batch, which must not be the mapped file.
  Batch one;
  for (const auto& [name, tensor] : values) one.set(name, tensor.clone(at::MemoryFormat::Contiguous).unsqueeze_(0));
  (*options_.transform)(one, {&rng, 1});
  values.clear();
  for (const std::string& name : one.names()) {
    const at::Tensor& tensor = one[name];
    if (tensor.dim() == 0 || tensor.size(0) != 1) {
      throw Error("TarDataset: a transform made '", name, "' ", tensor.sizes(), " of one sample; expected [1, ...]");
    }
    values.emplace_back(name, tensor.select(0, 0));
  }
  return values;
}

void TarDataset::make_batch(std::vector<Batch> samples, std::vector<Rng>& rngs, Batch& out) const {
  const auto count = static_cast<int64_t>(samples.size());
  if (count == 0) throw Error("TarDataset: a batch without samples");
  std::vector<Values> values(samples.size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = values_of(samples[i].as<TarSample>(), rngs[i]);
  const TarSample& first = samples.front().as<TarSample>();
  for (size_t i = 1; i < values.size(); ++i) check_alike(first, values.front(), samples[i].as<TarSample>(), values[i]);
  std::vector<Batch::Item> items;
  for (const auto& [name, tensor] : values.front()) {
    items.emplace_back(name, out.take_buffer(name, with_samples(count, tensor.sizes()), tensor.scalar_type()));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const MappedFile& file = *samples[i].as<TarSample>().file;
    for (size_t item = 0; item < items.size(); ++item) {
      copy_sample(file, values[i][item].second, items[item].second.tensor, i);
    }
  }
  out = Batch(std::move(items));
}

Tar::Tar(Options options)
    : options_(std::move(options)),
      transform_(make_transforms(options_.transforms, "data.transforms")),
      val_transform_(make_transforms(options_.val_transforms, "data.val_transforms")) {
  schema_of<Options>().check(&options_, "data");
}

Tar::DatasetPointer Tar::make(const std::vector<std::string>& shards, const char* option,
                              const TransformPtr& transform) const {
  TarDatasetOptions samples = options_.samples;
  if (transform) samples.transform = transform;
  return std::make_shared<const TarDataset>(shards, std::move(samples), option);
}

void Tar::setup(Stage stage) {
  if (stage == Stage::Fit && !train_) train_ = make(options_.shards, "data.shards", transform_);
  const bool needs_val = stage == Stage::Fit || stage == Stage::Validate;
  if (needs_val && !val_ && !options_.val_shards.empty()) {
    val_ = make(options_.val_shards, "data.val_shards", val_transform_);
  }
  const bool needs_test = stage == Stage::Test || stage == Stage::Predict;
  if (needs_test && !test_ && !options_.test_shards.empty()) {
    test_ = make(options_.test_shards, "data.test_shards", val_transform_);
  }
}

Loaders Tar::train_dataloader() {
  if (!train_) throw UsageError("Tar: call setup before asking for the train loader");
  return DataLoader(train_, loader_options(options_));
}

Loaders Tar::evaluation_loader(const DatasetPointer& dataset) const {
  if (!dataset) return {};
  DataLoaderOptions options = loader_options(options_);
  options.shuffle = options.drop_last = false;
  return DataLoader(dataset, std::move(options));
}

Loaders Tar::val_dataloader() { return evaluation_loader(val_); }
Loaders Tar::test_dataloader() { return evaluation_loader(test_); }
Loaders Tar::predict_dataloader() { return evaluation_loader(test_); }

}  // namespace levin::data
