#include <levin/data/tokenizers/normalizer.h>
#include <levin/data/tokenizers/pattern.h>
#include <levin/data/tokenizers/pre_tokenizer.h>

#include <string_view>

namespace levin::data::tokenizers {
namespace {

// Source: GPT-2's encoder.
constexpr std::string_view kGpt2Words = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// Writes a space before the text, and splits it by GPT-2's expression.
class Gpt2Split final : public PreTokenizer {
 public:
  Gpt2Split(bool adds_space, bool splits) : adds_space_(adds_space), splits_(splits), words_(kGpt2Words, "GPT-2") {}

  void split(TextPool& pool, const Piece& given, std::vector<Piece>& out) const override {
    Piece piece = given;
    if (adds_space_ && !pool.text(piece).starts_with(' ')) piece = prepend_to(pool, piece, " ");
    if (!splits_) {
      out.push_back(piece);
      return;
    }
    thread_local std::vector<PatternRange> ranges;
    words_.find_all(pool.text(piece), ranges);
    split_piece(pool, piece, ranges, SplitBehavior::Isolated, out);
  }

 private:
  bool adds_space_, splits_;
  Pattern words_;
};

class ByteLevelCharacters final : public PreTokenizer {
 public:
  void split(TextPool& pool, const Piece& piece, std::vector<Piece>& out) const override {
    out.push_back(to_byte_level(pool, piece));
  }
  bool is_byte_level() const override { return true; }
};

}  // namespace

void read_byte_level(const JsonFields& fields, PreTokenizers& steps) {
  fields.allow({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  const bool adds_space = fields.boolean("add_prefix_space"), splits = fields.boolean_or("use_regex", true);
  if (adds_space || splits) steps.push_back(std::make_unique<Gpt2Split>(adds_space, splits));
  steps.push_back(std::make_unique<ByteLevelCharacters>());
}

}  // namespace levin::data::tokenizers
