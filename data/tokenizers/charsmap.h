#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace levin::data::tokenizers {

/// SentencePiece's precompiled_charsmap: what texts of one or several characters are replaced by. It is a double-array
/// trie (Darts-clone) whose values are places in a list of texts. Source: SentencePiece, src/normalizer.cc.
class Charsmap {
 public:
  /// `bytes`: the map as a file has it, without its base64. Throws levin::UsageError with the prefix `place` if it is
  /// broken.
  Charsmap(std::string_view bytes, const std::string& place);

  /// Returns what a text is replaced by: the entry of its shortest prefix that has one, as the package tokenizers does.
  /// Throws levin::UsageError for one of more than 1,000 bytes.
  std::optional<std::string_view> replacement(std::string_view text) const;

  /// What the beginning of a text is replaced by, and how many of its bytes that is.
  struct Rule {
    std::string_view text = {};
    size_t bytes = 0;
  };
  /// Returns the rule of the longest beginning of a text that has one, as SentencePiece does it. Throws as
  /// `replacement` does.
  std::optional<Rule> longest(std::string_view text) const;

 private:
  template <class Found>
  void follow(std::string_view text, const Found& found) const;
  std::optional<std::string_view> text_at(uint32_t begin) const;

  std::vector<uint32_t> units_ = {};
  std::string texts_ = {};  // each ends with a 0
};

/// Decodes base64 (RFC 4648) with its padding; nothing if it is broken.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace levin::data::tokenizers
