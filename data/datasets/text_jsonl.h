#pragma once
#include <levin/core/options/option.h>
#include <levin/data/dataset.h>
#include <levin/data/dataset_module.h>
#include <levin/data/datasets/readers/pack_rows.h>
#include <levin/data/datasets/readers/sample_encoder.h>
#include <levin/data/datasets/readers/text_lines.h>
#include <levin/data/datasets/readers/token_store.h>
#include <levin/data/loader_options.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace levin {
namespace data {

/// What becomes of a sample with more than max_length tokens.
enum class TooLong : uint8_t { Error, Truncate, Drop };

}  // namespace data

template <>
inline constexpr auto kWords<data::TooLong> = words_of<data::TooLong>(
    {{"error", data::TooLong::Error}, {"truncate", data::TooLong::Truncate}, {"drop", data::TooLong::Drop}});

namespace data {

struct TextJsonlDatasetOptions {
  SampleEncoderOptions encoder = {};
  int64_t max_length = LEVIN_OPTION(max_length, 1024, "Most tokens of a sample; with data.pack, the tokens of each row",
                                    {.min = 2, .max = 1 << 24});
  Choice<TooLong> too_long =
      LEVIN_OPTION(too_long, TooLong::Error, "Of a sample with more tokens: an error, its beginning, or nothing");
  Choice<Packing> pack = LEVIN_OPTION(pack, Packing::None,
                                      "Put several whole samples into each row: best_fit leaves the least room, "
                                      "in_order keeps the order of the lines");
  bool preload = LEVIN_OPTION(preload, false,
                              "Make all tokens once, before the first step, and keep them in memory, 4 bytes each; "
                              "pack, group_by_length and too_long drop always do");
};

/// Samples that are lines of JSON: `{"text": ...}`, `{"prompt": ..., "completion": ...}`, or
/// `{"messages": [{"role": ..., "content": ...}, ...]}`, as tokens. Lines are made to tokens in get_batch unless
/// `preload` or `pack` is set.
///
/// `input` int64 [samples, longest] holds a sample's tokens, and `target` the token after each one; -100, which does
/// not count, after the last, in the padding at the end, and where `loss_on` says so. Without `pack` a batch has
/// `attention_mask` int64 [samples, longest], 0 for padding. With `pack` a sample is a row of max_length tokens of
/// several lines, and `position_ids` int64 [samples, max_length] begin from 0 with each line.
class TextJsonlDataset final : public Dataset {
 public:
  using Options = TextJsonlDatasetOptions;
  /// Takes the lines of `which`. Throws levin::UsageError for bad options; if the tokens are made now, for the first
  /// line that is broken, and if too_long leaves no line.
  TextJsonlDataset(std::shared_ptr<const TextLines> lines, std::vector<int64_t> which,
                   std::shared_ptr<const SampleEncoder> encoder, const Options& options);
  /// Takes all lines of the files.
  explicit TextJsonlDataset(const std::vector<std::string>& files, const Options& options);

  int64_t size() const override;
  /// Throws levin::UsageError that names file and line for a line that is no sample.
  Batch get(int64_t index, Rng& rng) const override;
  void get_batch(const Indices& indices, Batch& out) const override;

  /// Returns the tokens of each sample. Throws levin::Error unless they are in memory.
  std::vector<int64_t> lengths() const;
  const Tokenizer& tokenizer() const { return encoder_->tokenizer(); }

 private:
  struct Rows;

  std::vector<MarkedToken> encode(int64_t index) const;
  void load_tokens();
  void drop_long_samples();
  void pack();
  /// Calls `take` with the tokens of each line in sample `index`.
  template <class Take>
  void for_each_line(int64_t index, const Take& take) const;
  void check_index(int64_t index) const;
  void get_padded(const Indices& indices, Batch& out) const;
  void get_packed(const Indices& indices, Batch& out) const;

  std::shared_ptr<const TextLines> lines_;
  std::vector<int64_t> which_;
  std::shared_ptr<const SampleEncoder> encoder_;
  Options options_;
  std::shared_ptr<const TokenStore> tokens_ = {};  // of the lines in which_, if they are in memory
  std::vector<int64_t> kept_ = {};                 // positions in which_, in memory alone
  std::shared_ptr<const PackedRows> rows_ = {};    // of kept_
};

struct TextJsonlOptions {
  std::vector<std::string> files =
      LEVIN_OPTION(files, {}, "Training files, by name or pattern: train.jsonl, part-{000..009}.jsonl.zst");
  std::vector<std::string> val_files = LEVIN_OPTION(val_files, {}, "Validation files; empty: none, or a share");
  std::vector<std::string> test_files = LEVIN_OPTION(test_files, {}, "Files for test and predict; empty: none");
  double val_fraction = LEVIN_OPTION(val_fraction, 0,
                                     "Share of the training lines that is kept for validation; a line's own bytes "
                                     "decide, so that new lines move no old ones",
                                     {.min = 0, .exclusive_max = 1});
  /// The lines and what is made of them; these options appear beside the others, without a prefix.
  TextJsonlDatasetOptions samples = {};
  bool group_by_length = LEVIN_OPTION(
      group_by_length, false, "Make training batches of samples of similar length, for less padding; needs shuffle");
  LEVIN_LOADER_OPTIONS(8, true);
};

/// JSON lines of texts, prompts with completions, and chats, for language models.
class TextJsonl : public DatasetModule {
 public:
  using Options = TextJsonlOptions;
  /// Throws levin::UsageError for options that contradict each other.
  explicit TextJsonl(Options options = {});

  Loaders train_dataloader() override;

 protected:
  DatasetPtr make_dataset(Split split) override;

 private:
  DatasetPtr open(const std::vector<std::string>& files, const char* option);
  DatasetPtr training_share(bool held_out);
  std::shared_ptr<const SampleEncoder> encoder();

  Options options_;
  std::shared_ptr<const TextLines> training_lines_ = {};
  std::shared_ptr<const SampleEncoder> encoder_ = {};
};

}  // namespace data
}  // namespace levin
