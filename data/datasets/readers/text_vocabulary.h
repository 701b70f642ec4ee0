#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace levin::data {

/// The tokens of a text: its characters (UTF-8 code points, numbered in code point order) or bytes, numbered by their
/// value.
class TextVocabulary {
 public:
  /// Returns the vocabulary of all 256 bytes.
  static TextVocabulary bytes();
  /// Returns the characters that occur in `text`. Throws levin::UsageError "name: byte n: ..." for invalid UTF-8.
  static TextVocabulary characters(std::string_view text, const std::string& name);

  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  bool is_bytes() const { return is_bytes_; }
  /// Returns the text of each number.
  const std::vector<std::string>& tokens() const { return tokens_; }
  /// Returns the number of a code point or byte; -1 if it is not in the vocabulary.
  int64_t number(char32_t token) const { return token < numbers_.size() ? numbers_[token] : -1; }

  /// Returns int64 [tokens]. Throws levin::UsageError that names the byte for invalid UTF-8 and for an unknown
  /// character.
  at::Tensor encode(std::string_view text) const;
  /// Returns the text of numbers, integers of any shape. Throws levin::Error for a number outside the vocabulary.
  std::string decode(const at::Tensor& numbers) const;

  /// Throws levin::UsageError: the character `token` of the text `name` at `byte` is not in the vocabulary.
  [[noreturn]] static void throw_unknown(const std::string& name, size_t byte, char32_t token);
  /// Throws levin::UsageError: the text `name` is not valid UTF-8 at `byte`.
  [[noreturn]] static void throw_invalid(const std::string& name, size_t byte);

 private:
  void add(char32_t token, std::string text);

  bool is_bytes_ = false;
  std::vector<std::string> tokens_ = {};
  std::vector<int32_t> numbers_ = {};  // by code point
};

}  // namespace levin::data
