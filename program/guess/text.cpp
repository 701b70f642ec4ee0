#include <levin/data/datasets/text.h>
#include <levin/core/system/error.h>
#include <levin/data/files/mapped_file.h>
#include <levin/program/guess/common.h>
#include <levin/program/guess/kinds.h>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace levin::cli {
namespace {

constexpr int64_t kLargestBlock = 128, kLeastText = 200;
constexpr int64_t kMostCharacters = 4096;  // different ones; more make a large network of rare characters
constexpr double kKeptOfText = 0.1;
constexpr int64_t kTextEpochs = 10;

}  // namespace

Guess guess_text(const std::filesystem::path& file, const GuessOptions& /*options*/) {
  Guess guess{.kind = "a text"};
  data::TextDatasetOptions options{.block_size = 1};
  try {
    const data::TextDataset text(file, options);
    const int64_t characters = text.vocabulary().size();
    guess.seen.push_back(counted(text.length(), "character") + ", " + std::to_string(characters) + " different ones");
    if (characters > kMostCharacters) options.level = "bytes";
  } catch (const UsageError& error) {
    if (data::MappedFile(file).size() > options.block_size) {
      guess.broken.push_back({error.what(),
                              "The config reads bytes in place of characters. Where the text is Latin-1, "
                              "convert it: iconv -f LATIN1 -t UTF-8 " +
                                  file.string() + " > utf8.txt"});
      options.level = "bytes";
    }
  }
  const int64_t length = data::MappedFile(file).size();
  if (length < kLeastText) {
    guess.stops.push_back({file.string() + ": " + counted(length, "byte") + ", too short to learn from",
                           "give a text of thousands of characters or more"});
    return guess;
  }
  const data::TextDataset text(file, options);
  // Validation windows come from the end of the text, and each needs a character more than it has.
  const auto kept = static_cast<uint64_t>(static_cast<double>(text.length()) * kKeptOfText) - 1;
  const int64_t block = std::min(kLargestBlock, static_cast<int64_t>(std::bit_floor(kept)));
  set_training(guess.config, "text", kTextEpochs);
  guess.config.set("trainer", "gradient_clip_val", 1.0);
  set_best_checkpoint(guess.config);
  guess.config.set("model", "class", "LanguageModel");
  guess.config.set("model", "vocab_size", text.vocabulary().size(),
                   text.vocabulary().is_bytes() ? "" : "the different characters of the text");
  guess.config.set("model", "block_size", block,
                   "characters that the model sees at once; data.block_size has the same");
  guess.config.set("model", "layers", 4);
  guess.config.set("model", "heads", 4);
  guess.config.set("model", "embedding", 128);
  guess.config.set("model", "dropout", 0.1);
  guess.config.set("model", "optimizer", Json{{"class", "AdamW"}, {"lr", 0.001}, {"weight_decay", 0.1}});
  guess.config.set("data", "class", "Text");
  guess.config.set("data", "file", file.string());
  if (options.level == data::TextLevel::Bytes) guess.config.set("data", "level", "bytes");
  guess.config.set("data", "block_size", block);
  guess.config.set("data", "val_fraction", kKeptOfText, "the end of the text is kept for validation");
  guess.config.set("data", "batch_size", kGuessedBatch);
  return guess;
}

}  // namespace levin::cli
