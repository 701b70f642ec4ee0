#pragma once
#include <levin/data/tokenizers/json_fields.h>
#include <levin/data/tokenizers/post_processor.h>

#include <cstdint>
#include <vector>

namespace levin::data::tokenizers {

/// The `truncation` of a tokenizer's file.
struct Truncation {
  enum class Strategy : uint8_t { LongestFirst, OnlyFirst, OnlySecond };

  explicit Truncation(const JsonFields& fields);
  /// Cuts the end of the longer text.
  explicit Truncation(int64_t most_tokens) : most(most_tokens) {}

  int64_t most = 0;  ///< tokens of an encoding, with those that are added
  int64_t stride = 0;
  Strategy strategy = Strategy::LongestFirst;
  bool keeps_end = false;
};

/// Cuts one text or two to the tokens that may stay, `added` of which the post-processor adds later. Throws
/// levin::UsageError where the package cannot do it either.
void truncate(const Truncation& truncation, int64_t added, std::vector<EncodedPart>& parts);

}  // namespace levin::data::tokenizers
