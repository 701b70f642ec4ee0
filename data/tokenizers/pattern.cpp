#include <levin/data/tokenizers/pattern.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <array>
#include <utility>

namespace levin::data::tokenizers {
namespace {

/// Merges the ranges as the package does it: a match joins the range before it, if that is none.
void merge_with_previous(std::vector<PatternRange>& ranges) {
  size_t kept = 0;
  bool was_match = false;
  for (const PatternRange range : ranges) {
    if (range.is_match && !was_match && kept > 0) {
      ranges[kept - 1].end = range.end;
    } else {
      ranges[kept++] = range;
    }
    was_match = range.is_match;
  }
  ranges.resize(kept);
}

void merge_with_next(std::vector<PatternRange>& ranges) {
  std::vector<PatternRange> merged;
  bool was_match = false;
  for (size_t i = ranges.size(); i-- > 0;) {
    const PatternRange& range = ranges[i];
    if (range.is_match && !was_match && !merged.empty()) {
      merged.back().begin = range.begin;
    } else {
      merged.push_back(range);
    }
    was_match = range.is_match;
  }
  std::ranges::reverse(merged);
  ranges = std::move(merged);
}

void merge_equal_neighbours(std::vector<PatternRange>& ranges) {
  size_t kept = 0;
  bool was_match = false;
  for (const PatternRange range : ranges) {
    if (range.is_match == was_match && kept > 0) {
      ranges[kept - 1].end = range.end;
    } else {
      ranges[kept++] = range;
    }
    was_match = range.is_match;
  }
  ranges.resize(kept);
}

size_t bytes_of_character(std::string_view text, size_t position) {
  size_t end = position + 1;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  return end - position;
}

}  // namespace

Pattern::Pattern(const Json& json, const std::string& place) {
  const JsonFields fields(json, place);
  fields.allow({"String", "Regex"});
  if (fields.has("String") == fields.has("Regex")) fields.fail("has not one of 'String' and 'Regex'");
  if (fields.has("String")) {
    literal_ = fields.text("String");
    if (literal_.empty()) regex_ = Regex("", place);
  } else {
    regex_ = Regex(fields.text("Regex"), fields.place_of("Regex"));
  }
}

bool Pattern::find(std::string_view text, size_t from, size_t& begin, size_t& end) const {
  if (regex_) return regex_->find(text, from, begin, end);
  begin = text.find(literal_, from);
  end = begin + literal_.size();
  return begin != std::string_view::npos;
}

void Pattern::find_all(std::string_view text, std::vector<PatternRange>& ranges) const {
  ranges.clear();
  if (text.empty()) {
    ranges.push_back({0, 0, false});
    return;
  }
  size_t previous = 0, from = 0, last_match_end = std::string_view::npos;
  for (size_t begin = 0, end = 0; from <= text.size() && find(text, from, begin, end);) {
    if (begin == end && end == last_match_end) {  // an empty match right behind the last one
      from = from < text.size() ? from + bytes_of_character(text, from) : from + 1;
      continue;
    }
    from = last_match_end = end;
    if (previous != begin) ranges.push_back({previous, begin, false});
    ranges.push_back({begin, end, true});
    previous = end;
  }
  if (previous != text.size()) ranges.push_back({previous, text.size(), false});
}

SplitBehavior split_behavior_of(const JsonFields& fields, const char* name) {
  constexpr std::array<std::string_view, 5> kNames = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext",
                                                      "Contiguous"};
  const std::string value = fields.text(name);
  const auto found = std::ranges::find(kNames, value);
  if (found == kNames.end()) {
    throw UsageError(fields.place_of(name), ": '", value.substr(0, 100), "' is not one of Removed, Isolated, ",
                     "MergedWithPrevious, MergedWithNext, Contiguous");
  }
  return static_cast<SplitBehavior>(found - kNames.begin());
}

void split_piece(const TextPool& pool, const Piece& piece, std::vector<PatternRange>& ranges, SplitBehavior behavior,
                 std::vector<Piece>& out) {
  switch (behavior) {
    case SplitBehavior::MergedWithPrevious:
      merge_with_previous(ranges);
      break;
    case SplitBehavior::MergedWithNext:
      merge_with_next(ranges);
      break;
    case SplitBehavior::Contiguous:
      merge_equal_neighbours(ranges);
      break;
    case SplitBehavior::Removed:
    case SplitBehavior::Isolated:
      break;
  }
  for (const PatternRange& range : ranges) {
    if (range.begin == range.end || (behavior == SplitBehavior::Removed && range.is_match)) continue;
    out.push_back(pool.slice(piece, range.begin, range.end));
  }
}

}  // namespace levin::data::tokenizers
