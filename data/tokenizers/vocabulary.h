#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace levin::data::tokenizers {

/// Tokens by text, and texts by id.
class Vocabulary {
 public:
  /// Adds a token, or gives one that is there another id. `id`: 0 to kMostId.
  void add(std::string_view text, int32_t id);
  /// Reserves memory for this number of tokens.
  void reserve(size_t tokens);

  /// Returns the id of a token; -1 if there is none.
  int32_t id(std::string_view text) const;
  /// Returns the text of an id; an empty view with no data if there is none.
  std::string_view text(int32_t id) const;
  bool has(int32_t id) const { return text(id).data() != nullptr; }
  /// Returns the number of different texts.
  int64_t size() const { return static_cast<int64_t>(count_); }
  /// Returns one more than the largest id.
  int32_t end_id() const { return static_cast<int32_t>(places_.size()); }

 private:
  struct Slot {
    uint64_t hash = 0;
    uint32_t begin = 0, size = 0;
    int32_t id = -1;
  };
  struct Place {
    uint32_t begin = 0, size = 0;
    bool is_there = false;
  };

  void grow(size_t slots);

  std::string texts_ = {};
  std::vector<Slot> slots_ = {};  // a power of two
  std::vector<Place> places_ = {};
  size_t count_ = 0;
};

}  // namespace levin::data::tokenizers
