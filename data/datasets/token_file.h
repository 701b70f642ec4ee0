#pragma once
#include <levin/core/options/option.h>
#include <levin/data/dataset.h>
#include <levin/data/dataset_module.h>
#include <levin/data/datasets/readers/token_array.h>
#include <levin/data/loader_options.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace levin::data {

struct TokenFileDatasetOptions {
  int64_t block_size = LEVIN_OPTION(block_size, 1024, "Tokens of one sample", {.min = 1});
  int64_t stride = LEVIN_OPTION(stride, 0, "Distance between the beginnings of two samples; 0: block_size", {.min = 0});
  Choice<TokenType> dtype = LEVIN_OPTION(dtype, TokenType::Auto,
                                         "Type of tokens in files without a header; auto: uint32 if the first numbers "
                                         "look so, else uint16");
  std::optional<int64_t> document_separator =
      LEVIN_OPTION(document_separator, {},
                   "The token that ends a document, such as 50256 of GPT-2: no token attends to another document; "
                   "unset: all text is one",
                   {.min = 0});
};

/// Windows of files of tokens (see TokenArray), which are mapped into memory; sample i of a file starts at i * stride,
/// and no window reaches from one file into another.
///
/// `input` int64 [samples, block_size] holds a window's tokens, `target` those of the window that starts one token
/// later. With `document_separator` there is also `position_ids` int64 [samples, block_size], which start from 0 at the
/// window's beginning and behind each separator, and targets at separators are -100, which does not count.
class TokenFileDataset final : public Dataset {
 public:
  using Options = TokenFileDatasetOptions;
  /// Throws levin::UsageError as TokenArray, for a file that is shorter than one window with its target, and for no
  /// files.
  explicit TokenFileDataset(const std::vector<std::string>& files, const Options& options = {});

  int64_t size() const override { return ends_.back(); }
  Batch get(int64_t index, Rng& rng) const override;
  void get_batch(const Indices& indices, Batch& out) const override;

  /// Returns the number of tokens of all files.
  int64_t length() const;
  /// Returns the windows that lie, with their targets, in the tokens [begin, begin + length) of this dataset, files
  /// counted one after another. Throws levin::UsageError if there is none.
  TokenFileDataset slice(int64_t begin, int64_t length) const;

 private:
  /// Tokens of one file that windows lie in.
  struct Segment {
    std::shared_ptr<const TokenArray> tokens;
    int64_t begin, length;
  };
  /// Rows that a batch's samples are written to.
  struct Rows {
    int64_t* input;
    int64_t* target;
    int64_t* position;  // or null
  };

  int64_t windows(int64_t length) const;
  void count_windows();
  void read_window(int64_t index, const Rows& to) const;

  Options options_;
  int64_t stride_;
  std::vector<Segment> segments_ = {};
  std::vector<int64_t> ends_ = {};  // windows of the segments up to and with each
};

struct TokenFileOptions {
  std::vector<std::string> files = LEVIN_OPTION(
      files, {}, "Training files, by name or pattern: train.bin, fineweb_train_*.bin, part-{000..009}.npy");
  std::vector<std::string> val_files = LEVIN_OPTION(val_files, {}, "Validation files; empty: none, or a share");
  std::vector<std::string> test_files = LEVIN_OPTION(test_files, {}, "Files for test and predict; empty: none");
  double val_fraction = LEVIN_OPTION(val_fraction, 0, "Share of the tokens, their end, that is kept for validation",
                                     {.min = 0, .exclusive_max = 1});
  /// Windows and types; these options appear beside the others, without a prefix.
  TokenFileDatasetOptions tokens = {};
  LEVIN_LOADER_OPTIONS(8, true);
};

/// Files of tokens, as nanoGPT, llm.c and `levin tokenize` write them, for language models.
class TokenFile : public DatasetModule {
 public:
  using Options = TokenFileOptions;
  /// Throws levin::UsageError for options that contradict each other.
  explicit TokenFile(Options options = {});

  std::optional<RawInput> raw_input() override;

 protected:
  DatasetPtr make_dataset(Split split) override;

 private:
  DatasetPtr open(const std::vector<std::string>& files, const char* option) const;
  const TokenFileDataset& whole();

  Options options_;
  std::shared_ptr<const TokenFileDataset> whole_ = {};
};

}  // namespace levin::data
