#include <levin/data/tokenizers/pre_tokenizer.h>
#include <levin/data/files/utf8.h>
#include <levin/data/tokenizers/pattern.h>

#include <utility>

namespace levin::data::tokenizers {
namespace {

class PatternSplit final : public PreTokenizer {
 public:
  PatternSplit(Pattern pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void split(TextPool& pool, const Piece& piece, std::vector<Piece>& out) const override {
    thread_local std::vector<PatternRange> ranges;
    pattern_.find_all(pool.text(piece), ranges);
    if (invert_) {
      for (PatternRange& range : ranges) range.is_match = !range.is_match;
    }
    split_piece(pool, piece, ranges, behavior_, out);
  }

 private:
  Pattern pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

class FixedLengthSplit final : public PreTokenizer {
 public:
  explicit FixedLengthSplit(int64_t length) : length_(length) {}

  void split(TextPool& pool, const Piece& piece, std::vector<Piece>& out) const override {
    const std::string_view text = pool.text(piece);
    size_t begin = 0, position = 0;
    for (int64_t count = 1; position < text.size(); ++count) {
      next_code_point(text, position);
      if (count % length_ != 0 && position < text.size()) continue;
      out.push_back(pool.slice(piece, begin, position));
      begin = position;
    }
  }

 private:
  int64_t length_;
};

constexpr int64_t kDeepestSequence = 20;

void read_steps(const Json& json, const std::string& place, int64_t depth, PreTokenizers& steps) {
  const JsonFields fields(json, place);
  const std::string type = fields.text("type");
  if (type == "Sequence") {
    fields.allow({"type", "pretokenizers"});
    if (depth > kDeepestSequence) fields.fail("sequences are nested too deeply");
    size_t index = 0;
    for (const Json& step : fields.list("pretokenizers")) {
      read_steps(step, fields.place_of("pretokenizers", index++), depth + 1, steps);
    }
  } else if (type == "ByteLevel") {
    read_byte_level(fields, steps);
  } else if (type == "Metaspace") {
    steps.push_back(read_metaspace(fields));
  } else if (type == "Split") {
    fields.allow({"type", "pattern", "behavior", "invert"});
    steps.push_back(std::make_unique<PatternSplit>(Pattern(fields.at("pattern"), fields.place_of("pattern")),
                                                   split_behavior_of(fields, "behavior"), fields.boolean("invert")));
  } else if (type == "FixedLength") {
    fields.allow({"type", "length"});
    const int64_t length = fields.has("length") ? fields.count("length", kMostId) : 5;
    if (length < 1) fields.fail("'length' is 0");
    steps.push_back(std::make_unique<FixedLengthSplit>(length));
  } else if (auto step = read_class_split(type, fields)) {
    steps.push_back(std::move(step));
  } else {
    fields.fail("levin does not know the pre-tokenizer '" + type.substr(0, 100) + "'");
  }
}

}  // namespace

PreTokenizers read_pre_tokenizer(const Json& json, const std::string& place) {
  PreTokenizers steps;
  read_steps(json, place, 0, steps);
  return steps;
}

}  // namespace levin::data::tokenizers
