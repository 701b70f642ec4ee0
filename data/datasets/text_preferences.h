#pragma once
#include <levin/core/options/option.h>
#include <levin/data/dataset.h>
#include <levin/data/dataset_module.h>
#include <levin/data/datasets/readers/sample_encoder.h>
#include <levin/data/datasets/readers/text_lines.h>
#include <levin/data/datasets/text_jsonl.h>
#include <levin/data/loader_options.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace levin::data {

struct TextPreferencesDatasetOptions {
  std::string tokenizer =
      LEVIN_OPTION(tokenizer, "", "Folder of a model, its tokenizer.json, or a SentencePiece model (.model)");
  /// These options appear beside the others, without a prefix.
  PreferenceFields fields = {};
  Choice<ChatTemplate> chat_template =
      LEVIN_OPTION(chat_template, ChatTemplate::Auto, "Format of chats; auto: that of tokenizer_config.json");
  std::string system_message =
      LEVIN_OPTION(system_message, "", "System message of chats without one; empty: none, or that of the template");
  bool append_eos = LEVIN_OPTION(append_eos, true, "End completions with the end-of-text token");
  std::string eos_token =
      LEVIN_OPTION(eos_token, "", "The end-of-text token; empty: eos_token of tokenizer_config.json");
  int64_t max_length =
      LEVIN_OPTION(max_length, 1024, "Most tokens of a prompt with a completion", {.min = 2, .max = 1 << 24});
  Choice<TooLong> too_long =
      LEVIN_OPTION(too_long, TooLong::Error, "Of a completion with more tokens: an error, or its beginning",
                   {.choices = {"error", "truncate"}});
};

/// Pairs of completions that are lines of JSON, `{"prompt": ..., "chosen": ..., "rejected": ...}`, as tokens: what the
/// objective DPO learns from. The three are texts, or lists of messages (read_preference); of a chat the answers behind
/// the prompt are learned.
///
/// `input` int64 [samples, 2, longest] holds the prompt with its better and with its worse completion, and `target` the
/// token after each one; -100, which does not count, in the prompt, after the last and in the padding at the end.
/// `attention_mask` int64 [samples, 2, longest] is 0 for padding.
class TextPreferencesDataset final : public Dataset {
 public:
  using Options = TextPreferencesDatasetOptions;
  /// Throws levin::UsageError for bad options and files without lines.
  TextPreferencesDataset(std::shared_ptr<const TextLines> lines, const Options& options);

  int64_t size() const override { return lines_->size(); }
  /// Throws levin::UsageError that names file and line for a line that is no sample.
  Batch get(int64_t index, Rng& rng) const override;
  void get_batch(const Indices& indices, Batch& out) const override;

 private:
  std::vector<MarkedToken> encode(TextSample sample, const std::string& place) const;

  std::shared_ptr<const TextLines> lines_;
  Options options_;
  SampleEncoder encoder_;
};

struct TextPreferencesOptions {
  std::vector<std::string> files =
      LEVIN_OPTION(files, {}, "Training files, by name or pattern: train.jsonl, part-{000..009}.jsonl.zst");
  std::vector<std::string> val_files = LEVIN_OPTION(val_files, {}, "Validation files; empty: none");
  std::vector<std::string> test_files = LEVIN_OPTION(test_files, {}, "Files for test; empty: none");
  /// These options appear beside the others, without a prefix.
  TextPreferencesDatasetOptions samples = {};
  LEVIN_LOADER_OPTIONS(8, true);
};

/// JSON lines of prompts with two completions, of which one is preferred.
class TextPreferences : public DatasetModule {
 public:
  using Options = TextPreferencesOptions;
  explicit TextPreferences(Options options = {});

 protected:
  DatasetPtr make_dataset(Split split) override;

 private:
  Options options_;
};

}  // namespace levin::data
