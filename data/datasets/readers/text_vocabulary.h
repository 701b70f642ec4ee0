#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace levin::data {

/// What the numbers of a text mean: its characters (UTF-8 code points, numbered in the order of the code points), or
/// bytes, numbered by their value.
class TextVocabulary {
 public:
  /// All 256 bytes.
  static TextVocabulary bytes();
  /// The characters that occur in `text`. Throws levin::UsageError "name: byte n: ..." for invalid UTF-8.
  static TextVocabulary characters(std::string_view text, const std::string& name);

  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  bool is_bytes() const { return is_bytes_; }
  /// The text of each number.
  const std::vector<std::string>& tokens() const { return tokens_; }
  /// The number of a code point, or of a byte; -1 where there is none.
  int64_t number(char32_t token) const { return token < numbers_.size() ? numbers_[token] : -1; }

  /// int64 [tokens]. Throws levin::UsageError that names the byte: invalid UTF-8, or a character the vocabulary lacks.
  at::Tensor encode(std::string_view text) const;
  /// The text of numbers, whole numbers of any shape. Throws levin::Error for a number outside the vocabulary.
  std::string decode(const at::Tensor& numbers) const;

  /// Throws levin::UsageError that the text `name` has at `byte` the character `token`, which the vocabulary lacks.
  [[noreturn]] static void throw_unknown(const std::string& name, size_t byte, char32_t token);
  /// Throws levin::UsageError that the text `name` is no UTF-8 at `byte`.
  [[noreturn]] static void throw_invalid(const std::string& name, size_t byte);

 private:
  void add(char32_t token, std::string text);

  bool is_bytes_ = false;
  std::vector<std::string> tokens_ = {};
  std::vector<int32_t> numbers_ = {};  // by code point
};

}  // namespace levin::data
