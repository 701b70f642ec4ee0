#include <levin/data/datasets/text_preferences.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/tar_shards.h>
#include <levin/data/ignored_target.h>

#include <algorithm>
#include <utility>

namespace levin::data {
namespace {

SampleEncoderOptions encoder_options(const TextPreferencesDatasetOptions& options) {
  return {.tokenizer = options.tokenizer,
          .chat_template = options.chat_template,
          .system_message = options.system_message,
          .append_eos = options.append_eos,
          .eos_token = options.eos_token};
}

}  // namespace

TextPreferencesDataset::TextPreferencesDataset(std::shared_ptr<const TextLines> lines, const Options& options)
    : lines_(std::move(lines)), options_(options), encoder_(encoder_options(options)) {
  schema_of<Options>().check(&options_, "data");
}

std::vector<MarkedToken> TextPreferencesDataset::encode(TextSample sample, const std::string& place) const {
  std::vector<MarkedToken> tokens = encoder_.encode_sample(std::move(sample), place);
  const auto most = static_cast<size_t>(options_.max_length);
  if (tokens.size() > most && options_.too_long == TooLong::Error)
    throw UsageError(place, ": ", tokens.size(), " tokens, more than data.max_length ", most,
                     "; raise it, or set data.too_long to truncate");
  tokens.resize(std::min(tokens.size(), most));
  return tokens;
}

void TextPreferencesDataset::get_batch(const Indices& indices, Batch& out) const {
  std::vector<std::vector<MarkedToken>> rows;
  size_t longest = 0;
  for (const int64_t index : indices) {
    if (index < 0 || index >= size()) throw Error("TextPreferencesDataset: no sample ", index, " among ", size());
    const std::string place = lines_->place(index);
    Preference pair = read_preference(lines_->line(index), options_.fields, place);
    for (TextSample* const sample : {&pair.chosen, &pair.rejected}) {
      rows.push_back(encode(std::move(*sample), place));
      longest = std::max(longest, rows.back().size());
    }
  }
  const std::vector<int64_t> sizes = {indices.size(), 2, static_cast<int64_t>(longest)};
  at::Tensor input = out.take_buffer("input", sizes, at::kLong), target = out.take_buffer("target", sizes, at::kLong),
             mask = out.take_buffer("attention_mask", sizes, at::kLong);
  auto *inputs = input.mutable_data_ptr<int64_t>(), *targets = target.mutable_data_ptr<int64_t>(),
       *masks = mask.mutable_data_ptr<int64_t>();
  for (const std::vector<MarkedToken>& tokens : rows) {
    for (size_t i = 0; i < longest; ++i) {
      const bool is_token = i < tokens.size(), is_learned = i + 1 < tokens.size() && tokens[i + 1] >= 0;
      *inputs++ = is_token ? id_of(tokens[i]) : encoder_.pad_id();
      *targets++ = is_learned ? tokens[i + 1] : kIgnoredTarget;
      *masks++ = is_token ? 1 : 0;
    }
  }
  out = Batch(std::move(input), std::move(target));
  out.set("attention_mask", std::move(mask));
}

Batch TextPreferencesDataset::get(int64_t index, Rng& /*rng*/) const { return sample_of_batch(*this, index); }

TextPreferences::TextPreferences(Options options)
    : DatasetModule("TextPreferences", loader_options(options)), options_(std::move(options)) {
  schema_of<Options>().check(&options_, "data");
}

DatasetPtr TextPreferences::make_dataset(Split split) {
  const bool is_train = split == Split::Train;
  const std::vector<std::string>& files = is_train              ? options_.files
                                          : split == Split::Val ? options_.val_files
                                                                : options_.test_files;
  const std::string option = is_train ? "data.files" : split == Split::Val ? "data.val_files" : "data.test_files";
  if (files.empty() && !is_train) return nullptr;
  if (files.empty()) throw UsageError(option, ": not set; it names files of JSON lines, such as train.jsonl");
  auto lines = std::make_shared<const TextLines>(find_shards(files, option));
  if (lines->size() == 0) throw UsageError(option, ": no lines in ", files.front(), files.size() > 1 ? ", ..." : "");
  return std::make_shared<const TextPreferencesDataset>(std::move(lines), options_.samples);
}

}  // namespace levin::data
