#pragma once
#include <levin/data/tokenizers/byte_trie.h>
#include <levin/data/tokenizers/json_fields.h>
#include <levin/data/tokenizers/model.h>
#include <levin/data/tokenizers/normalizer.h>
#include <levin/data/tokenizers/text_pool.h>

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace levin::data::tokenizers {

/// A token that stands beside the model's: it is found in the text before the model sees that.
struct AddedToken {
  std::string content = {};
  bool single_word = false, left_strip = false, right_strip = false, normalized = false, special = false;
  /// The content as the normalizer leaves it, for tokens that are looked for in normalized text; else the content.
  std::string pattern = {};
  bool is_skipped = false;  ///< whether decoding without special tokens leaves it out

  bool operator==(const AddedToken&) const = default;
};

/// The added tokens of a tokenizer.
class AddedTokens {
 public:
  AddedTokens() = default;
  /// Reads the list. Tokens that the model has get its id, and others the next ones, as the package gives them.
  AddedTokens(const Json& json, const std::string& place, const Model& model, const Normalizer* normalizer);

  /// Splits a text into added tokens and what lies between them, which is normalized.
  void extract(TextPool& pool, const Normalizer* normalizer, std::vector<Piece>& out) const;

  /// Returns the token of an id; a null pointer if it is that of none.
  const AddedToken* find(int32_t id) const {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : &found->second;
  }
  /// Returns the id of a content; -1 if there is none.
  int32_t id(const std::string& content) const;
  /// Returns the number of added tokens that the model lacks.
  int64_t count_beside(const Model& model) const;
  const std::unordered_map<int32_t, AddedToken>& by_id() const { return by_id_; }

 private:
  void split(const TextPool& pool, const Piece& piece, const ByteTrie& trie, bool any, std::vector<Piece>& out) const;

  std::unordered_map<int32_t, AddedToken> by_id_ = {};
  std::map<std::string, int32_t> ids_ = {};
  ByteTrie given_ = {}, normalized_ = {};  // those that are looked for before, and after, normalization
  std::vector<bool> first_bytes_given_ = std::vector<bool>(256), first_bytes_normalized_ = std::vector<bool>(256);
  bool any_given_ = false, any_normalized_ = false;
};

}  // namespace levin::data::tokenizers
