#include <levin/data/tokenizers/truncation.h>
#include <levin/core/system/error.h>

#include <algorithm>

namespace levin::data::tokenizers {
namespace {

int64_t tokens_of(const EncodedPart& part) { return static_cast<int64_t>(part.encoding.ids.size()); }

template <class Values>
void keep_part(Values& values, int64_t most, bool keeps_end) {
  const auto size = static_cast<int64_t>(values.size());
  if (size <= most) return;
  if (keeps_end) {
    values.erase(values.begin(), values.end() - most);
  } else {
    values.erase(values.begin() + most, values.end());
  }
}

void cut(const Truncation& truncation, EncodedPart& part, int64_t most) {
  if (tokens_of(part) <= most) return;
  if (most > 0 && truncation.stride >= most) {
    throw UsageError("Tokenizer: a text is cut to ", most, " tokens, but the stride of 'truncation' is ",
                     truncation.stride, "; it must be smaller");
  }
  keep_part(part.encoding.ids, most, truncation.keeps_end);
  keep_part(part.encoding.offsets, most, truncation.keeps_end);
  keep_part(part.encoding.special_tokens_mask, most, truncation.keeps_end);
  keep_part(part.encoding.type_ids, most, truncation.keeps_end);
  keep_part(part.spaces, most, truncation.keeps_end);
}

/// Cuts two texts so that they have `most` tokens together: the longer one to what the shorter one leaves, or both to
/// half.
void cut_longest(const Truncation& truncation, int64_t most, std::vector<EncodedPart>& parts) {
  if (parts.size() == 1) {
    cut(truncation, parts[0], most);
    return;
  }
  const bool second_is_shorter = tokens_of(parts[0]) > tokens_of(parts[1]);
  int64_t shorter = std::min(tokens_of(parts[0]), tokens_of(parts[1]));
  int64_t longer = shorter > most ? shorter : std::max(shorter, most - shorter);
  if (shorter + longer > most) {
    shorter = most / 2;
    longer = shorter + most % 2;
  }
  cut(truncation, parts[0], second_is_shorter ? longer : shorter);
  cut(truncation, parts[1], second_is_shorter ? shorter : longer);
}

}  // namespace

Truncation::Truncation(const JsonFields& fields)
    : most(fields.count("max_length", int64_t{1} << 40)), stride(fields.count("stride", int64_t{1} << 40)) {
  fields.allow({"direction", "max_length", "strategy", "stride"});
  const std::string direction = fields.text_or("direction", "Right"), name = fields.text("strategy");
  if (direction != "Right" && direction != "Left") fields.fail("'direction' is neither Left nor Right");
  keeps_end = direction == "Left";
  if (name != "LongestFirst" && name != "OnlyFirst" && name != "OnlySecond") {
    fields.fail("'strategy' is not one of LongestFirst, OnlyFirst, OnlySecond");
  }
  strategy = name == "LongestFirst" ? Strategy::LongestFirst
             : name == "OnlyFirst"  ? Strategy::OnlyFirst
                                    : Strategy::OnlySecond;
}

void truncate(const Truncation& truncation, int64_t added, std::vector<EncodedPart>& parts) {
  if (truncation.most < added) {
    throw UsageError("Tokenizer: 'truncation' leaves ", truncation.most, " tokens, but the post-processor adds ",
                     added);
  }
  const int64_t most = truncation.most - added;
  int64_t total = 0;
  for (const EncodedPart& part : parts) total += tokens_of(part);
  if (most == 0) {
    for (EncodedPart& part : parts) cut(truncation, part, 0);
    return;
  }
  if (total <= most) return;
  if (truncation.strategy == Truncation::Strategy::LongestFirst) {
    cut_longest(truncation, most, parts);
    return;
  }
  const bool first = truncation.strategy == Truncation::Strategy::OnlyFirst;
  if (!first && parts.size() < 2) {
    throw UsageError("Tokenizer: 'truncation' cuts only the second text, but there is one");
  }
  EncodedPart& part = parts[first ? 0 : 1];
  const int64_t stays = tokens_of(part) - (total - most);
  if (stays <= 0) {
    throw UsageError("Tokenizer: 'truncation' may cut only the ", first ? "first" : "second",
                     " text, which is too short for it: the other one alone has ", total - tokens_of(part),
                     " tokens of ", most);
  }
  cut(truncation, part, stays);
}

}  // namespace levin::data::tokenizers
