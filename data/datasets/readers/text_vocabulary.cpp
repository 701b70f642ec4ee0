#include <levin/data/datasets/readers/text_vocabulary.h>
#include <ATen/ops/empty.h>
#include <levin/core/system/error.h>
#include <levin/data/files/utf8.h>

#include <algorithm>
#include <array>
#include <utility>

namespace levin::data {
namespace {

constexpr size_t kCodePoints = 0x110000;
const char* const kTextToEncode = "the text to encode";

}  // namespace

void TextVocabulary::throw_unknown(const std::string& name, size_t byte, char32_t token) {
  std::string text, hex;
  append_utf8(text, token);
  for (int shift = token < 0x10000 ? 12 : 20; shift >= 0; shift -= 4) hex += "0123456789ABCDEF"[token >> shift & 15];
  const std::string shown = token < 0x20 ? "" : " '" + text + "'";
  throw UsageError(name, ": byte ", byte, ": the character U+", hex, shown, " is not in the vocabulary");
}

void TextVocabulary::throw_invalid(const std::string& name, size_t byte) {
  throw UsageError(name, ": byte ", byte, ": not valid UTF-8; convert the text, or read it as bytes");
}

void TextVocabulary::add(char32_t token, std::string text) {
  if (token >= numbers_.size()) numbers_.resize(token + 1, -1);
  numbers_[token] = static_cast<int32_t>(tokens_.size());
  tokens_.push_back(std::move(text));
}

TextVocabulary TextVocabulary::bytes() {
  TextVocabulary vocabulary;
  vocabulary.is_bytes_ = true;
  for (char32_t byte = 0; byte < 256; ++byte) vocabulary.add(byte, std::string(1, static_cast<char>(byte)));
  return vocabulary;
}

TextVocabulary TextVocabulary::characters(std::string_view text, const std::string& name) {
  std::vector<bool> occurs(kCodePoints);
  if (is_ascii(text)) {
    std::array<bool, 128> ascii = {};
    for (const char c : text) ascii[static_cast<size_t>(c)] = true;
    std::copy(ascii.begin(), ascii.end(), occurs.begin());
  } else {
    for (size_t position = 0; position < text.size();) {
      const char32_t token = next_code_point(text, position);
      if (token == kInvalidUtf8) throw_invalid(name, position);
      occurs[token] = true;
    }
  }
  TextVocabulary vocabulary;
  for (char32_t token = 0; token < kCodePoints; ++token) {
    if (!occurs[token]) continue;
    std::string as_text;
    append_utf8(as_text, token);
    vocabulary.add(token, std::move(as_text));
  }
  return vocabulary;
}

at::Tensor TextVocabulary::encode(std::string_view text) const {
  std::vector<int64_t> numbers;
  numbers.reserve(text.size());
  for (size_t position = 0; position < text.size();) {
    const size_t begin = position;
    const char32_t token = is_bytes_ ? static_cast<unsigned char>(text[position++]) : next_code_point(text, position);
    if (token == kInvalidUtf8) throw_invalid(kTextToEncode, begin);
    if (number(token) < 0) throw_unknown(kTextToEncode, begin, token);
    numbers.push_back(number(token));
  }
  at::Tensor encoded = at::empty({static_cast<int64_t>(numbers.size())}, at::TensorOptions(at::kLong));
  std::ranges::copy(numbers, encoded.mutable_data_ptr<int64_t>());
  return encoded;
}

std::string TextVocabulary::decode(const at::Tensor& numbers) const {
  const at::Tensor flat = numbers.to(at::kCPU, at::kLong).contiguous();
  const auto* values = flat.const_data_ptr<int64_t>();
  std::string text;
  for (int64_t i = 0; i < flat.numel(); ++i) {
    if (values[i] < 0 || values[i] >= size()) {
      throw Error("TextVocabulary::decode: ", values[i], " is outside the vocabulary of ", size());
    }
    text += tokens_[static_cast<size_t>(values[i])];
  }
  return text;
}

}  // namespace levin::data
