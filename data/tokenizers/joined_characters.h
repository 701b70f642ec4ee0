#pragma once
#include <cstdint>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace levin::data::tokenizers {

/// Which characters stand beside each other in the tokens that merges make. Between two that do not, no merge ever
/// takes place, so that a long text falls into words that are merged one by one.
class JoinedCharacters {
 public:
  /// Adds the pairs of a token.
  void add(std::string_view token);
  bool are_joined(char32_t first, char32_t second) const {
    if (first < kFew && second < kFew) return few_[first * kFew + second];
    return others_.contains(uint64_t{first} << 32 | second);
  }

 private:
  static constexpr size_t kFew = 128;

  std::vector<bool> few_ = std::vector<bool>(kFew * kFew);
  std::unordered_set<uint64_t> others_ = {};
};

}  // namespace levin::data::tokenizers
