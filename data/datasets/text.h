#pragma once
#include <levin/core/options/choice.h>
#include <levin/data/dataset.h>
#include <levin/data/dataset_module.h>
#include <levin/data/datasets/readers/text_vocabulary.h>
#include <levin/data/loader_options.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace levin {
namespace data {

/// What of a text is numbered: UTF-8 characters, or bytes.
enum class TextLevel : uint8_t { Characters, Bytes };

}  // namespace data

template <>
inline constexpr auto kWords<data::TextLevel> =
    words_of<data::TextLevel>({{"characters", data::TextLevel::Characters}, {"bytes", data::TextLevel::Bytes}});

namespace data {

struct TextDatasetOptions {
  int64_t block_size = LEVIN_OPTION(block_size, 128, "Characters or bytes of one sample", {.min = 1});
  int64_t stride = LEVIN_OPTION(stride, 0, "Distance between the beginnings of two samples; 0: block_size", {.min = 0});
  Choice<TextLevel> level = LEVIN_OPTION(level, TextLevel::Characters, "What is numbered: UTF-8 characters, or bytes");
  std::string vocabulary = LEVIN_OPTION(vocabulary, "", "The characters that may occur; empty: those of the file");
};

/// Windows of a text file, which is mapped into memory: sample i starts at i * stride.
///
/// `input` int64 [samples, block_size] holds the numbers of a window's characters, `target` those of the window that
/// starts one character later. Text with characters outside ASCII needs 8 bytes of memory per 256 characters.
class TextDataset final : public Dataset {
 public:
  using Options = TextDatasetOptions;
  /// For level Characters this reads the whole file once. Throws levin::UsageError that names the file, and the byte
  /// for invalid UTF-8 and for a character outside the vocabulary; also for a text shorter than one window with its
  /// target.
  explicit TextDataset(const std::filesystem::path& file, const Options& options = {});

  int64_t size() const override { return size_; }
  Batch get(int64_t index, Rng& rng) const override;
  void get_batch(const Indices& indices, Batch& out) const override;
  /// Returns the characters; empty for bytes, which have no names.
  std::vector<std::string> class_names() const override;

  /// Returns the length of the text in characters or bytes.
  int64_t length() const { return length_; }
  /// Returns the windows that lie, with their targets, in [begin, begin + length), counted in characters or bytes of
  /// this dataset. Throws levin::UsageError if there is none.
  TextDataset slice(int64_t begin, int64_t length) const;

  const TextVocabulary& vocabulary() const;
  at::Tensor encode(std::string_view text) const { return vocabulary().encode(text); }
  std::string decode(const at::Tensor& numbers) const { return vocabulary().decode(numbers); }

 private:
  class Text;

  void count_windows();
  void read_window(int64_t index, int64_t* input, int64_t* target) const;

  std::shared_ptr<const Text> text_;
  int64_t begin_ = 0, length_ = 0, block_size_, stride_, size_ = 0;
};

struct TextOptions {
  std::string file = LEVIN_OPTION(file, "", "Text file");
  double val_fraction = LEVIN_OPTION(val_fraction, 0.1, "Share of the text, its end, that is kept for validation",
                                     {.min = 0, .exclusive_max = 1});
  /// Windows and level; these options appear beside the others, without a prefix.
  TextDatasetOptions text = {};
  LEVIN_LOADER_OPTIONS(32, true);
};

/// A text for language models: training windows from its start, validation windows from its end; no window overlaps
/// both. Windows for predict are those of the whole text.
class Text : public DatasetModule {
 public:
  using Options = TextOptions;
  explicit Text(Options options = {});

  /// Returns the vocabulary of the whole file, which is read if that has not happened yet.
  const TextVocabulary& vocabulary();

  State learned_state() override;
  void load_learned_state(const State& state) override;
  std::optional<RawInput> raw_input() override;

 protected:
  DatasetPtr make_dataset(Split split) override;

 private:
  const TextDataset& whole();

  Options options_;
  std::shared_ptr<const TextDataset> whole_ = {};
};

}  // namespace data
}  // namespace levin
