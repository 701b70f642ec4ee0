#pragma once
#include <levin/data/tokenizers/json_fields.h>
#include <levin/data/tokenizers/regex.h>
#include <levin/data/tokenizers/text_pool.h>

#include <optional>
#include <string>
#include <vector>

namespace levin::data::tokenizers {

/// A range of a text, and whether it is a match or lies between two.
struct PatternRange {
  size_t begin = 0, end = 0;
  bool is_match = false;
};

/// What Replace and Split look for: a text, or a regular expression.
class Pattern {
 public:
  /// Reads {"String": ...} or {"Regex": ...}.
  Pattern(const Json& json, const std::string& place);
  /// A regular expression.
  explicit Pattern(std::string_view expression, const std::string& place) : regex_(Regex(expression, place)) {}

  /// Sets `ranges` to those of the whole text, matches and what lies between them, in order. An empty match is a range
  /// too.
  void find_all(std::string_view text, std::vector<PatternRange>& ranges) const;

 private:
  bool find(std::string_view text, size_t from, size_t& begin, size_t& end) const;

  std::string literal_ = {};
  std::optional<Regex> regex_ = {};
};

/// What becomes of a match that pieces are split at.
enum class SplitBehavior : uint8_t { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };

SplitBehavior split_behavior_of(const JsonFields& fields, const char* name);

/// Appends the parts of a piece that follow from its ranges.
void split_piece(const TextPool& pool, const Piece& piece, std::vector<PatternRange>& ranges, SplitBehavior behavior,
                 std::vector<Piece>& out);

}  // namespace levin::data::tokenizers
