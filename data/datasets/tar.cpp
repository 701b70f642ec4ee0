#include <levin/data/datasets/tar.h>
#include <levin/core/system/error.h>
#include <levin/core/system/joined.h>
#include <levin/data/data_loader.h>
#include <levin/data/datasets/readers/convert_field.h>
#include <levin/data/datasets/readers/length_groups.h>
#include <levin/data/datasets/readers/pad_rows.h>
#include <levin/data/datasets/readers/shard_list.h>
#include <levin/data/datasets/readers/tar_shards.h>
#include <levin/data/datasets/readers/tar_stream.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace levin::data {
namespace {

using Values = TarDecoder::Values;

/// From this many bytes on, a read() costs less than the page faults of a mapped file.
constexpr size_t kLeastRead = 1 << 14;
constexpr const char* kTarMaskName = "attention_mask";

std::string names_of(const Values& values) {
  std::string names;
  for (const auto& [name, tensor] : values) names += (names.empty() ? "" : ", ") + name;
  return names;
}

/// Returns the members' options for a data set whose classes have names.
TarDecoderOptions decoder_options(const TarDatasetOptions& options) {
  TarDecoderOptions members = options.members;
  const size_t named = std::max(options.class_names.size(), members.mask_colors.size());
  if (!members.mask.empty() && named > 0) members.classes = static_cast<int64_t>(named);
  return members;
}

std::string place(const TarSample& sample) {
  return *sample.shard + ": byte " + std::to_string(sample.members.front().offset) + ": sample " + sample.key;
}

/// Returns whether only the length differs, of a field that is filled up.
bool is_padded(const FieldOptions& options, const std::string& name, const at::Tensor& a, const at::Tensor& b) {
  return options.pad.values().contains(name) && a.scalar_type() == b.scalar_type() && a.dim() > 0 && b.dim() > 0 &&
         a.sizes().slice(1) == b.sizes().slice(1);
}

void check_alike(const TarSample& first, const Values& expected, const TarSample& sample, const Values& values,
                 const FieldOptions& options) {
  bool same_names = values.size() == expected.size();
  for (size_t i = 0; same_names && i < values.size(); ++i) same_names = values[i].first == expected[i].first;
  if (!same_names) {
    throw UsageError(place(sample), " has ", names_of(values), ", but sample ", first.key, " of the same batch has ",
                     names_of(expected));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const at::Tensor &a = values[i].second, &b = expected[i].second;
    if (a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type()) continue;
    if (is_padded(options, values[i].first, a, b)) continue;
    throw UsageError(place(sample), ": '", values[i].first, "' is ", a.scalar_type(), " ", a.sizes(),
                     ", but in sample ", first.key, " of the same batch ", b.scalar_type(), " ", b.sizes(),
                     "; set transforms that give all one size, or fill up rows by data.pad");
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
    : options_(std::move(options)),
      decoder_(decoder_options(options_)),
      types_(field_types_of(options_.field_options)) {
  const std::string& masked = options_.field_options.attention_mask;
  if (!masked.empty() && !options_.field_options.pad.values().contains(masked))
    throw UsageError("data.attention_mask: '", masked, "' is no field that data.pad fills up");
  shards_ = std::make_shared<ShardList>(find_tar_shards(shards, option), options_.shard_options);
}

bool TarDataset::divides_among_ranks() const {
  return shards_->size() > 1 && options_.shard_options.ranks_take == RankShare::Shards;
}

std::unique_ptr<SampleStream> TarDataset::open(const StreamOptions& options) const {
  return std::make_unique<TarStream>(shards_, options, options_.shuffle_buffer);
}

TarDecoder::Values TarDataset::values_of(const TarSample& sample, Rng& rng) const {
  Values values = decoder_.decode(sample);
  if (options_.transform) values = transformed(values, rng);
  if (!options_.members.mask.empty())
    for (auto& [name, tensor] : values)
      if (name == "mask") name = "target";
  return values;
}

TarDecoder::Values TarDataset::transformed(const Values& values, Rng& rng) const {
  // A transform may write to its batch, which must not be the mapped file.
  Batch one;
  for (const auto& [name, tensor] : values) one.set(name, tensor.clone(at::MemoryFormat::Contiguous).unsqueeze_(0));
  (*options_.transform)(one, {&rng, 1});
  Values changed;
  for (const std::string& name : one.names()) {
    const at::Tensor& tensor = one[name];
    if (tensor.dim() == 0 || tensor.size(0) != 1) {
      throw Error("TarDataset: a transform made '", name, "' ", tensor.sizes(), " of one sample; expected [1, ...]");
    }
    changed.emplace_back(name, tensor.select(0, 0));
  }
  return changed;
}

void TarDataset::make_batch(std::vector<Batch> samples, std::vector<Rng>& rngs, Batch& out) const {
  const auto count = static_cast<int64_t>(samples.size());
  if (count == 0) throw Error("TarDataset: a batch without samples");
  std::vector<Values> values(samples.size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = values_of(samples[i].as<TarSample>(), rngs[i]);
  const TarSample& first = samples.front().as<TarSample>();
  std::vector<const MappedFile*> files;
  for (size_t i = 0; i < values.size(); ++i) {
    const TarSample& sample = samples[i].as<TarSample>();
    check_alike(first, values.front(), sample, values[i], options_.field_options);
    files.push_back(sample.file.get());
  }
  std::vector<Batch::Item> items;
  const std::string& masked = options_.field_options.attention_mask;
  std::vector<int64_t> lengths;
  for (size_t item = 0; item < values.front().size(); ++item) {
    const std::string& name = values.front()[item].first;
    items.emplace_back(name, batch_of(values, item, files, out));
    for (size_t i = 0; name == masked && i < values.size(); ++i) lengths.push_back(values[i][item].second.size(0));
  }
  if (!lengths.empty()) items.emplace_back(kTarMaskName, mask_of_lengths(lengths, kTarMaskName, out));
  out = Batch(std::move(items));
  convert(out);
}

at::Tensor TarDataset::batch_of(const std::vector<Values>& values, size_t item,
                                const std::vector<const MappedFile*>& files, Batch& out) const {
  const auto& [name, first] = values.front()[item];
  const auto fill = options_.field_options.pad.values().find(name);
  if (fill != options_.field_options.pad.values().end()) {
    std::vector<at::Tensor> rows;
    for (const Values& sample : values) rows.push_back(sample[item].second);
    return pad_rows(rows, name, fill->second, out);
  }
  at::Tensor buffer =
      out.take_buffer(name, with_samples(static_cast<int64_t>(values.size()), first.sizes()), first.scalar_type());
  for (size_t i = 0; i < values.size(); ++i) copy_sample(*files[i], values[i][item].second, buffer, i);
  return buffer;
}

/// Gives fields their types. Samples to predict may lack a target.
void TarDataset::convert(Batch& batch) const {
  const auto check = [&](const std::string& name, const char* option) {
    if (batch.contains(name)) return true;
    if (name == "target") return false;
    const std::string names = joined(batch.names());
    throw UsageError("data.", option, ": the samples have no field '", name, "'; they have ", names);
  };
  for (const auto& [name, value] : options_.field_options.pad.values()) check(name, "pad");
  for (const auto& [name, type] : types_)
    if (check(name, "dtypes")) batch.set(name, convert_field(batch[name], type, name));
}

Tar::Tar(Options options)
    : options_(std::move(options)),
      transform_(make_transforms(options_.transforms, "data.transforms")),
      val_transform_(make_transforms(options_.val_transforms, "data.val_transforms")) {
  schema_of<Options>().check(&options_, "data");
  if (!options_.group_by_length.empty()) check_length_groups("data.group_by_length", options_.shuffle);
}

Tar::DatasetPointer Tar::make(const std::vector<std::string>& shards, const char* option, const TransformPtr& transform,
                              bool needs_target) const {
  TarDatasetOptions samples = options_.samples;
  samples.members.needs_target = needs_target;
  if (transform) samples.transform = transform;
  return std::make_shared<const TarDataset>(shards, std::move(samples), option);
}

void Tar::setup(Stage stage) {
  if (stage == Stage::Fit && !train_) train_ = make(options_.shards, "data.shards", transform_);
  const bool needs_val = stage == Stage::Fit || stage == Stage::Validate;
  if (needs_val && !val_ && !options_.val_shards.empty()) {
    val_ = make(options_.val_shards, "data.val_shards", val_transform_);
  }
  if (options_.test_shards.empty()) return;
  if (stage == Stage::Test && !test_) test_ = make(options_.test_shards, "data.test_shards", val_transform_);
  if (stage == Stage::Predict && !predict_)
    predict_ = make(options_.test_shards, "data.test_shards", val_transform_, /*needs_target=*/false);
}

Loaders Tar::train_dataloader() {
  if (!train_) throw UsageError("Tar: call setup before asking for the train loader");
  if (options_.group_by_length.empty()) return DataLoader(train_, loader_options(options_));
  return length_grouped_loader(train_, loader_options(options_),
                               [data = train_, field = options_.group_by_length](const Batch& sample) {
                                 return data->length_of(sample, field, "data.group_by_length");
                               });
}

Loaders Tar::evaluation_loader(const DatasetPointer& dataset) const {
  if (!dataset) return {};
  DataLoaderOptions options = loader_options(options_);
  options.shuffle = options.drop_last = false;
  return DataLoader(dataset, std::move(options));
}

Loaders Tar::val_dataloader() { return evaluation_loader(val_); }
Loaders Tar::test_dataloader() { return evaluation_loader(test_); }
Loaders Tar::predict_dataloader() { return evaluation_loader(predict_); }

}  // namespace levin::data
