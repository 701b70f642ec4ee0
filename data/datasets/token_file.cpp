#include <levin/data/datasets/token_file.h>
#include <ATen/ops/zeros.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/tar_shards.h>
#include <levin/data/ignored_target.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace levin::data {
namespace {

std::vector<std::string> token_files(const std::vector<std::string>& patterns, const char* option) {
  if (patterns.empty())
    throw UsageError("data.", option, ": not set; it names files of tokens, such as train.bin or part-*.bin");
  return find_shards(patterns, std::string("data.") + option);
}

}  // namespace

TokenFileDataset::TokenFileDataset(const std::vector<std::string>& files, const Options& options)
    : options_(options), stride_(options.stride == 0 ? options.block_size : options.stride) {
  schema_of<Options>().check(&options, "data");
  if (files.empty()) throw UsageError("TokenFileDataset: no files");
  for (const std::string& file : files) {
    auto tokens = std::make_shared<const TokenArray>(file, options_.dtype);
    const int64_t length = tokens->size();
    if (windows(length) == 0)
      throw UsageError(file, ": ", length, " tokens, but a sample of block_size ", options_.block_size,
                       " and its target need ", options_.block_size, " + 1");
    segments_.push_back({std::move(tokens), 0, length});
  }
  count_windows();
}

int64_t TokenFileDataset::windows(int64_t length) const {
  return length <= options_.block_size ? 0 : (length - 1 - options_.block_size) / stride_ + 1;
}

void TokenFileDataset::count_windows() {
  ends_.clear();
  int64_t end = 0;
  for (const Segment& segment : segments_) ends_.push_back(end += windows(segment.length));
}

int64_t TokenFileDataset::length() const {
  int64_t length = 0;
  for (const Segment& segment : segments_) length += segment.length;
  return length;
}

TokenFileDataset TokenFileDataset::slice(int64_t begin, int64_t length) const {
  const int64_t all = this->length();
  if (begin < 0 || length < 0 || begin > all - length)
    throw Error("TokenFileDataset::slice: [", begin, ", ", begin, " + ", length, ") of ", all, " tokens");
  TokenFileDataset part = *this;
  part.segments_.clear();
  int64_t before = 0;
  for (const Segment& segment : segments_) {
    const int64_t first = std::max<int64_t>(0, begin - before);
    const int64_t end = std::min(segment.length, begin + length - before);
    before += segment.length;
    if (end > first && windows(end - first) > 0)
      part.segments_.push_back({segment.tokens, segment.begin + first, end - first});
  }
  if (part.segments_.empty())
    throw UsageError(segments_.front().tokens->name(), ": ", length, " of ", all,
                     " tokens, a share for training or validation, have no sample of block_size ", options_.block_size,
                     " with its target; set another data.val_fraction or a smaller data.block_size");
  part.count_windows();
  return part;
}

void TokenFileDataset::read_window(int64_t index, const Rows& to) const {
  if (index < 0 || index >= size()) throw Error("TokenFileDataset: no sample ", index, " among ", size());
  const auto place = static_cast<size_t>(std::ranges::upper_bound(ends_, index) - ends_.begin());
  const Segment& segment = segments_[place];
  const int64_t begin = segment.begin + (index - (place == 0 ? 0 : ends_[place - 1])) * stride_;
  const int64_t count = options_.block_size;
  segment.tokens->read(begin, 1, to.input);
  segment.tokens->read(begin + 1, count, to.target);
  std::memcpy(to.input + 1, to.target, static_cast<size_t>(count - 1) * sizeof(int64_t));
  if (!to.position) return;
  int64_t position = 0;
  for (int64_t i = 0; i < count; ++i) {
    to.position[i] = position++;
    if (to.input[i] != *options_.document_separator) continue;
    to.target[i] = kIgnoredTarget;
    position = 0;
  }
}

void TokenFileDataset::get_batch(const Indices& indices, Batch& out) const {
  const int64_t width = options_.block_size;
  const std::vector<int64_t> sizes = {indices.size(), width};
  at::Tensor input = out.take_buffer("input", sizes, at::kLong), target = out.take_buffer("target", sizes, at::kLong);
  at::Tensor position;
  if (options_.document_separator) position = out.take_buffer("position_ids", sizes, at::kLong);
  const Rows rows{input.mutable_data_ptr<int64_t>(), target.mutable_data_ptr<int64_t>(),
                  position.defined() ? position.mutable_data_ptr<int64_t>() : nullptr};
  for (int64_t i = 0; i < indices.size(); ++i) {
    const int64_t row = i * width;
    read_window(indices[i], {rows.input + row, rows.target + row, rows.position ? rows.position + row : nullptr});
  }
  out = Batch(std::move(input), std::move(target));
  if (position.defined()) out.set("position_ids", std::move(position));
}

Batch TokenFileDataset::get(int64_t index, Rng& /*rng*/) const { return sample_of_batch(*this, index); }

TokenFile::TokenFile(Options options)
    : DatasetModule("TokenFile", loader_options(options)), options_(std::move(options)) {
  schema_of<Options>().check(&options_, "data");
  if (!options_.val_files.empty() && options_.val_fraction > 0)
    throw UsageError("data.val_fraction: validation data are given by data.val_files already; set one of the two");
}

const TokenFileDataset& TokenFile::whole() {
  if (!whole_) whole_ = std::make_shared<const TokenFileDataset>(token_files(options_.files, "files"), options_.tokens);
  return *whole_;
}

DatasetPtr TokenFile::open(const std::vector<std::string>& files, const char* option) const {
  if (files.empty()) return nullptr;
  return std::make_shared<const TokenFileDataset>(token_files(files, option), options_.tokens);
}

std::optional<RawInput> TokenFile::raw_input() {
  return RawInput{.example = Batch(at::zeros({2, options_.tokens.block_size}, at::kLong)),
                  .prepare = [](const Batch& tokens) { return tokens; },
                  .meaning = "input: the numbers of tokens"};
}

DatasetPtr TokenFile::make_dataset(Split split) {
  if (split == Split::Test || split == Split::Predict) return open(options_.test_files, "test_files");
  if (options_.val_fraction <= 0) {
    if (split == Split::Val) return open(options_.val_files, "val_files");
    return std::make_shared<const TokenFileDataset>(whole());
  }
  const int64_t all = whole().length();
  const auto train = static_cast<int64_t>(static_cast<double>(all) * (1 - options_.val_fraction));
  const bool trains = split == Split::Train;
  return std::make_shared<const TokenFileDataset>(trains ? whole().slice(0, train) : whole().slice(train, all - train));
}

}  // namespace levin::data
