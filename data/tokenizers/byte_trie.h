#pragma once
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace levin::data::tokenizers {

/// Finds which of many texts a text begins with, byte by byte. It is a double array: Aoe, An Efficient Digital Search
/// Algorithm by Using a Double-Array Structure, 1989.
class ByteTrie {
 public:
  /// Texts that are not empty, and their values, 0 or more. Of several with the same text the last counts.
  using Entries = std::vector<std::pair<std::string_view, int32_t>>;

  ByteTrie() = default;
  explicit ByteTrie(Entries entries);

  /// A place in the trie while a text is followed.
  using Node = int32_t;
  static constexpr Node kRoot = 0;

  /// Moves along one byte; returns false if no text continues with it.
  bool follow(Node& node, char byte) const {
    const int64_t next = int64_t{units_[static_cast<size_t>(node)].base} + static_cast<unsigned char>(byte);
    if (next >= static_cast<int64_t>(units_.size()) || units_[static_cast<size_t>(next)].parent != node) return false;
    node = static_cast<Node>(next);
    return true;
  }
  /// Returns the value of the text that ends here; -1 if none does.
  int32_t value(Node node) const { return units_[static_cast<size_t>(node)].value; }

  /// Returns the bytes of the longest text that `text` begins with, and sets its value; 0 if there is none.
  size_t longest(std::string_view text, int32_t& value_found) const {
    Node node = kRoot;
    size_t bytes = 0;
    for (size_t i = 0; i < text.size() && follow(node, text[i]); ++i) {
      if (value(node) < 0) continue;
      bytes = i + 1;
      value_found = value(node);
    }
    return bytes;
  }

 private:
  struct Unit {
    int32_t base = 0;     // the unit of the child by byte b is base + b
    int32_t parent = -1;  // -1: free
    int32_t value = -1;
  };

  int32_t find_base(const std::vector<unsigned char>& labels);

  std::vector<Unit> units_ = std::vector<Unit>(1, Unit{0, -2, -1});
  size_t first_free_ = 1;
};

}  // namespace levin::data::tokenizers
