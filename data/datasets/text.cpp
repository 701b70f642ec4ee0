#include <levin/data/datasets/text.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <levin/core/system/error.h>
#include <levin/data/files/mapped_file.h>
#include <levin/data/files/utf8.h>

#include <array>
#include <cstring>
#include <utility>

namespace levin::data {
namespace {

/// One character in this many has its file position kept.
constexpr int64_t kCharactersPerMark = 256;

TextVocabulary vocabulary_of(const MappedFile& file, const TextDatasetOptions& options) {
  schema_of<TextDatasetOptions>().check(&options, "data");
  if (options.level == TextLevel::Bytes) {
    if (options.vocabulary.empty()) return TextVocabulary::bytes();
    throw UsageError(
        "data.vocabulary: bytes have a vocabulary of their own; unset it, or set data.level to characters");
  }
  if (options.vocabulary.empty()) return TextVocabulary::characters(file.text(), file.path().string());
  return TextVocabulary::characters(options.vocabulary, "data.vocabulary");
}

}  // namespace

/// The text file, with access by character.
class TextDataset::Text {
 public:
  Text(const std::filesystem::path& path, const Options& options)
      : file_(path), vocabulary_(vocabulary_of(file_, options)) {
    for (size_t byte = 0; byte < 256; ++byte) numbers_[byte] = vocabulary_.number(static_cast<char32_t>(byte));
    one_byte_each_ = vocabulary_.is_bytes() || is_ascii(file_.text());
    if (!options.vocabulary.empty() || !one_byte_each_) {
      mark();
    } else {
      length_ = file_.size();
    }
  }

  const MappedFile& file() const { return file_; }
  const TextVocabulary& vocabulary() const { return vocabulary_; }
  int64_t length() const { return length_; }

  /// Writes the numbers of `count` characters starting at character `begin`, and of the `count` characters one later.
  void read(int64_t begin, int64_t count, int64_t* input, int64_t* target) const {
    if (one_byte_each_) {
      const auto* bytes = reinterpret_cast<const unsigned char*>(file_.data()) + begin;
      input[0] = numbers_[bytes[0]];
      for (int64_t i = 0; i < count; ++i) target[i] = numbers_[bytes[i + 1]];
    } else {
      auto position = static_cast<size_t>(marks_[static_cast<size_t>(begin / kCharactersPerMark)]);
      const auto next = [&] { return next_code_point(file_.text(), position); };
      for (int64_t i = begin % kCharactersPerMark; i > 0; --i) next();
      input[0] = vocabulary_.number(next());
      for (int64_t i = 0; i < count; ++i) target[i] = vocabulary_.number(next());
    }
    // The target contains all of the input except its first character.
    std::memcpy(input + 1, target, static_cast<size_t>(count - 1) * sizeof(int64_t));
  }

 private:
  /// Reads all characters: counts them, keeps the positions of some, and checks each against the vocabulary.
  void mark() {
    const std::string_view text = file_.text();
    for (size_t position = 0; position < text.size(); ++length_) {
      const size_t begin = position;
      const char32_t token = next_code_point(text, position);
      if (token == kInvalidUtf8) TextVocabulary::throw_invalid(file_.path().string(), begin);
      if (vocabulary_.number(token) < 0) TextVocabulary::throw_unknown(file_.path().string(), begin, token);
      if (!one_byte_each_ && length_ % kCharactersPerMark == 0) marks_.push_back(static_cast<int64_t>(begin));
    }
  }

  MappedFile file_;
  TextVocabulary vocabulary_;
  std::array<int64_t, 256> numbers_ = {};
  bool one_byte_each_ = true;
  int64_t length_ = 0;
  std::vector<int64_t> marks_ = {};
};

TextDataset::TextDataset(const std::filesystem::path& file, const Options& options)
    : text_(std::make_shared<const Text>(file, options)),
      length_(text_->length()),
      block_size_(options.block_size),
      stride_(options.stride == 0 ? options.block_size : options.stride) {
  count_windows();
}

void TextDataset::count_windows() {
  if (length_ <= block_size_) {
    const char* unit = vocabulary().is_bytes() ? " bytes" : " characters";
    throw UsageError(text_->file().path().string(), ": ", length_, unit, begin_ ? " at its end" : "",
                     ", but a sample of block_size ", block_size_, " and its target need ", block_size_, " + 1");
  }
  size_ = (length_ - 1 - block_size_) / stride_ + 1;
}

TextDataset TextDataset::slice(int64_t begin, int64_t length) const {
  if (begin < 0 || length < 0 || begin > length_ - length) {
    throw Error("TextDataset::slice: [", begin, ", ", begin, " + ", length, ") of a text of ", length_);
  }
  TextDataset part = *this;
  part.begin_ += begin;
  part.length_ = length;
  part.count_windows();
  return part;
}

const TextVocabulary& TextDataset::vocabulary() const { return text_->vocabulary(); }

std::vector<std::string> TextDataset::class_names() const {
  return vocabulary().is_bytes() ? std::vector<std::string>() : vocabulary().tokens();
}

void TextDataset::read_window(int64_t index, int64_t* input, int64_t* target) const {
  if (index < 0 || index >= size_) throw Error("TextDataset: no sample ", index, " among ", size_);
  text_->read(begin_ + index * stride_, block_size_, input, target);
}

Batch TextDataset::get(int64_t index, Rng& /*rng*/) const {
  at::Tensor input = at::empty({block_size_}, at::TensorOptions(at::kLong)), target = at::empty_like(input);
  read_window(index, input.mutable_data_ptr<int64_t>(), target.mutable_data_ptr<int64_t>());
  return {std::move(input), std::move(target)};
}

void TextDataset::get_batch(const Indices& indices, Batch& out) const {
  at::Tensor input = out.take_buffer("input", {indices.size(), block_size_}, at::kLong);
  at::Tensor target = out.take_buffer("target", {indices.size(), block_size_}, at::kLong);
  auto* to_input = input.mutable_data_ptr<int64_t>();
  auto* to_target = target.mutable_data_ptr<int64_t>();
  for (int64_t i = 0; i < indices.size(); ++i) {
    read_window(indices[i], to_input + i * block_size_, to_target + i * block_size_);
  }
  out = Batch(std::move(input), std::move(target));
}

Text::Text(Options options) : DatasetModule("Text", loader_options(options)), options_(std::move(options)) {}

const TextDataset& Text::whole() {
  if (!whole_) {
    if (options_.file.empty()) throw UsageError("data.file: not set; it names the text file");
    whole_ = std::make_shared<const TextDataset>(options_.file, options_.text);
  }
  return *whole_;
}

const TextVocabulary& Text::vocabulary() { return whole().vocabulary(); }

State Text::learned_state() {
  std::string characters;
  if (options_.text.level == TextLevel::Characters)
    for (const std::string& token : vocabulary().tokens()) characters += token;
  return State::dict({{"level", options_.text.level.word()}, {"vocabulary", std::move(characters)}});
}

void Text::load_learned_state(const State& state) {
  options_.text.level = state.at("level").to_string();
  options_.text.vocabulary = state.at("vocabulary").to_string();
  whole_ = nullptr;
}

std::optional<RawInput> Text::raw_input() {
  return RawInput{.example = Batch(at::zeros({2, options_.text.block_size}, at::kLong)),
                  .prepare = [](const Batch& numbers) { return numbers; },
                  .meaning = "input: the numbers of " + options_.text.level.word()};
}

DatasetPtr Text::make_dataset(Split split) {
  if (split == Split::Test) return nullptr;
  const TextDataset& all = whole();
  if (split == Split::Predict) return std::make_shared<const TextDataset>(all);
  const auto train = static_cast<int64_t>(static_cast<double>(all.length()) * (1 - options_.val_fraction));
  if (split == Split::Train) return std::make_shared<const TextDataset>(all.slice(0, train));
  if (options_.val_fraction <= 0) return nullptr;
  return std::make_shared<const TextDataset>(all.slice(train, all.length() - train));
}

}  // namespace levin::data
