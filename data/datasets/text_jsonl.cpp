#include <levin/data/datasets/text_jsonl.h>
#include <levin/core/system/console.h>
#include <levin/core/system/counted.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/length_groups.h>
#include <levin/data/datasets/readers/tar_shards.h>
#include <levin/data/ignored_target.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace levin::data {
namespace {

std::vector<int64_t> counted_from_zero(int64_t size) {
  std::vector<int64_t> numbers(static_cast<size_t>(size));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

std::vector<std::string> jsonl_files(const std::vector<std::string>& patterns, const std::string& option) {
  if (patterns.empty()) throw UsageError(option, ": not set; it names files of JSON lines, such as train.jsonl");
  return find_shards(patterns, option);
}

/// Writes a line's tokens, and for each the token that follows it.
void write_tokens(std::span<const MarkedToken> tokens, int64_t* input, int64_t* target) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    input[i] = id_of(tokens[i]);
    target[i] = i + 1 < tokens.size() && tokens[i + 1] >= 0 ? tokens[i + 1] : kIgnoredTarget;
  }
}

}  // namespace

TextJsonlDataset::TextJsonlDataset(const std::vector<std::string>& files, const Options& options)
    : TextJsonlDataset(std::make_shared<const TextLines>(files), {}, nullptr, options) {}

TextJsonlDataset::TextJsonlDataset(std::shared_ptr<const TextLines> lines, std::vector<int64_t> which,
                                   std::shared_ptr<const SampleEncoder> encoder, const Options& options)
    : lines_(std::move(lines)), which_(std::move(which)), encoder_(std::move(encoder)), options_(options) {
  schema_of<Options>().check(&options_, "data");
  if (!encoder_) {
    encoder_ = std::make_shared<const SampleEncoder>(options_.encoder);
    which_ = counted_from_zero(lines_->size());
  }
  if (options_.preload || options_.pack != Packing::None || options_.too_long == TooLong::Drop) load_tokens();
}

std::vector<MarkedToken> TextJsonlDataset::encode(int64_t index) const {
  const int64_t line = which_[static_cast<size_t>(index)];
  std::vector<MarkedToken> tokens = encoder_->encode_line(lines_->line(line), lines_->place(line));
  const auto most = static_cast<size_t>(options_.max_length);
  if (tokens.size() <= most || options_.too_long == TooLong::Drop) return tokens;
  if (options_.too_long == TooLong::Error)
    throw UsageError(lines_->place(line), ": ", tokens.size(), " tokens, more than data.max_length ", most,
                     "; raise it, or set data.too_long to truncate or drop");
  tokens.resize(most);
  return tokens;
}

void TextJsonlDataset::load_tokens() {
  const auto count = static_cast<int64_t>(which_.size());
  tokens_ = std::make_shared<const TokenStore>(count, [&](int64_t index) { return encode(index); });
  kept_ = counted_from_zero(count);
  if (options_.too_long == TooLong::Drop) drop_long_samples();
  if (options_.pack != Packing::None) pack();
}

void TextJsonlDataset::drop_long_samples() {
  const auto all = static_cast<int64_t>(kept_.size());
  const auto dropped = static_cast<int64_t>(std::erase_if(
      kept_, [&](int64_t i) { return static_cast<int64_t>(tokens_->sample(i).size()) > options_.max_length; }));
  if (dropped == 0) return;
  const std::string what = c10::str(dropped, " of ", counted(all, "sample"), " have more than data.max_length ",
                                    options_.max_length, " tokens");
  if (dropped == all) throw UsageError("data.too_long: ", what, ", and none is left; raise data.max_length");
  console::warn(what + " and are left out");
}

void TextJsonlDataset::pack() {
  std::vector<int64_t> lengths;
  for (const int64_t i : kept_) lengths.push_back(static_cast<int64_t>(tokens_->sample(i).size()));
  rows_ = std::make_shared<const PackedRows>(pack_rows(lengths, options_.max_length, options_.pack));
}

int64_t TextJsonlDataset::size() const {
  return rows_ ? rows_->size() : static_cast<int64_t>(tokens_ ? kept_.size() : which_.size());
}

std::vector<int64_t> TextJsonlDataset::lengths() const {
  if (!tokens_) throw Error("TextJsonlDataset::lengths: the tokens are not in memory; set preload");
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < size(); ++i) {
    lengths.push_back(0);
    for_each_line(i, [&](auto tokens) { lengths.back() += static_cast<int64_t>(tokens.size()); });
  }
  return lengths;
}

template <class Take>
void TextJsonlDataset::for_each_line(int64_t index, const Take& take) const {
  if (!tokens_) return take(std::span<const MarkedToken>(encode(index)));
  const auto at = static_cast<size_t>(index);
  if (!rows_) return take(tokens_->sample(kept_[at]));
  for (int64_t i = index == 0 ? 0 : rows_->ends[at - 1]; i < rows_->ends[at]; ++i)
    take(tokens_->sample(kept_[static_cast<size_t>(rows_->samples[static_cast<size_t>(i)])]));
}

void TextJsonlDataset::check_index(int64_t index) const {
  if (index < 0 || index >= size()) throw Error("TextJsonlDataset: no sample ", index, " among ", size());
}

/// Memory of a batch, whose rows are filled up where no sample is.
struct TextJsonlDataset::Rows {
  Rows(Batch& out, const char* third_name, int64_t samples, int64_t columns, int64_t pad)
      : width(columns), third(third_name) {
    const std::vector<int64_t> sizes = {samples, width};
    for (const char* name : {"input", "target", third}) tensors.push_back(out.take_buffer(name, sizes, at::kLong));
    std::fill_n(row(0, 0), samples * width, pad);
    std::fill_n(row(1, 0), samples * width, kIgnoredTarget);
    std::fill_n(row(2, 0), samples * width, 0);
  }
  /// Returns row `sample` of the input (0), the target (1), and the third tensor (2).
  int64_t* row(size_t tensor, int64_t sample) { return tensors[tensor].mutable_data_ptr<int64_t>() + sample * width; }
  Batch take() {
    Batch batch(std::move(tensors[0]), std::move(tensors[1]));
    batch.set(third, std::move(tensors[2]));
    return batch;
  }

  int64_t width;
  const char* third;
  std::vector<at::Tensor> tensors = {};
};

void TextJsonlDataset::get_padded(const Indices& indices, Batch& out) const {
  std::vector<std::vector<MarkedToken>> samples;
  size_t longest = 0;
  for (const int64_t index : indices) {
    check_index(index);
    for_each_line(index, [&](auto tokens) { samples.emplace_back(tokens.begin(), tokens.end()); });
    longest = std::max(longest, samples.back().size());
  }
  Rows rows(out, "attention_mask", indices.size(), static_cast<int64_t>(longest), encoder_->pad_id());
  for (int64_t i = 0; i < indices.size(); ++i) {
    const std::vector<MarkedToken>& tokens = samples[static_cast<size_t>(i)];
    write_tokens(tokens, rows.row(0, i), rows.row(1, i));
    std::fill_n(rows.row(2, i), tokens.size(), 1);
  }
  out = rows.take();
}

void TextJsonlDataset::get_packed(const Indices& indices, Batch& out) const {
  Rows rows(out, "position_ids", indices.size(), options_.max_length, encoder_->pad_id());
  for (int64_t i = 0; i < indices.size(); ++i) {
    check_index(indices[i]);
    int64_t at = 0;
    for_each_line(indices[i], [&](auto tokens) {
      const auto count = static_cast<int64_t>(tokens.size());
      write_tokens(tokens, rows.row(0, i) + at, rows.row(1, i) + at);
      std::iota(rows.row(2, i) + at, rows.row(2, i) + at + count, 0);
      at += count;
    });
    // What is left over is a sequence of its own.
    std::iota(rows.row(2, i) + at, rows.row(2, i) + rows.width, 0);
  }
  out = rows.take();
}

void TextJsonlDataset::get_batch(const Indices& indices, Batch& out) const {
  if (rows_)
    get_packed(indices, out);
  else
    get_padded(indices, out);
}

Batch TextJsonlDataset::get(int64_t index, Rng& /*rng*/) const { return sample_of_batch(*this, index); }

TextJsonl::TextJsonl(Options options)
    : DatasetModule("TextJsonl", loader_options(options)), options_(std::move(options)) {
  schema_of<Options>().check(&options_, "data");
  if (!options_.val_files.empty() && options_.val_fraction > 0)
    throw UsageError("data.val_fraction: validation data are given by data.val_files already; set one of the two");
  if (!options_.group_by_length) return;
  if (options_.samples.pack != Packing::None)
    throw UsageError("data.group_by_length: with data.pack all rows have one length; set one of the two");
  check_length_groups("data.group_by_length", options_.shuffle);
  options_.samples.preload = true;
}

std::shared_ptr<const SampleEncoder> TextJsonl::encoder() {
  if (!encoder_) encoder_ = std::make_shared<const SampleEncoder>(options_.samples.encoder);
  return encoder_;
}

DatasetPtr TextJsonl::open(const std::vector<std::string>& files, const char* option) {
  if (files.empty()) return nullptr;
  auto lines = std::make_shared<const TextLines>(jsonl_files(files, option));
  if (lines->size() == 0) throw UsageError(option, ": no lines in ", files.front(), files.size() > 1 ? ", ..." : "");
  std::vector<int64_t> all = counted_from_zero(lines->size());
  return std::make_shared<const TextJsonlDataset>(std::move(lines), std::move(all), encoder(), options_.samples);
}

DatasetPtr TextJsonl::training_share(bool held_out) {
  if (!training_lines_) training_lines_ = std::make_shared<const TextLines>(jsonl_files(options_.files, "data.files"));
  const int64_t count = training_lines_->size();
  if (count == 0) throw UsageError("data.files: no lines in ", options_.files.front());
  std::vector<int64_t> share;
  for (int64_t i = 0; i < count; ++i)
    if (is_held_out(training_lines_->line(i), options_.val_fraction) == held_out) share.push_back(i);
  if (share.empty())
    throw UsageError("data.val_fraction: ", options_.val_fraction, " leaves none of ", counted(count, "line"), " for ",
                     held_out ? "validation" : "training", "; set another, or data.val_files");
  return std::make_shared<const TextJsonlDataset>(training_lines_, std::move(share), encoder(), options_.samples);
}

DatasetPtr TextJsonl::make_dataset(Split split) {
  switch (split) {
    case Split::Train:
      return training_share(/*held_out=*/false);
    case Split::Val:
      return options_.val_fraction > 0 ? training_share(/*held_out=*/true) : open(options_.val_files, "data.val_files");
    case Split::Test:
    case Split::Predict:
      return open(options_.test_files, "data.test_files");
  }
  return nullptr;
}

Loaders TextJsonl::train_dataloader() {
  const DatasetPtr& samples = dataset(Split::Train);
  if (!options_.group_by_length || !samples) return DatasetModule::train_dataloader();
  DataLoaderOptions loader = loader_options(options_);
  loader.batch_size = *batch_size();
  return length_grouped_loader(samples, std::move(loader), dynamic_cast<const TextJsonlDataset&>(*samples).lengths());
}

}  // namespace levin::data
