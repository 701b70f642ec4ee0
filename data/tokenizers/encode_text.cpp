#include <levin/core/system/error.h>
#include <levin/data/files/utf8.h>
#include <levin/data/tokenizers/parts.h>

#include <utility>

namespace levin::data::tokenizers {
namespace {

void check_utf8(std::string_view text) {
  if (is_ascii(text)) return;
  for (size_t position = 0; position < text.size();) {
    const size_t begin = position;
    if (next_code_point(text, position) == kInvalidUtf8) {
      throw UsageError("Tokenizer: the text is not UTF-8 at byte ", begin + 1, "; convert it before it is encoded");
    }
  }
}

/// Splits a text into the pieces that the model encodes.
std::vector<Piece> split_text(const Parts& parts, TextPool& pool) {
  std::vector<Piece> pieces, next;
  parts.added.extract(pool, parts.normalizer.get(), pieces);
  for (const auto& step : parts.pre_tokenizers) {
    next.clear();
    for (const Piece& piece : pieces) {
      if (piece.id >= 0) {
        next.push_back(piece);
      } else {
        step->split(pool, piece, next);
      }
    }
    pieces.swap(next);
  }
  return pieces;
}

/// Byte offsets of a text as those of its characters.
class CharacterOffsets {
 public:
  CharacterOffsets(std::string_view text, bool counts_end) : bytes_(text.size()), counts_end_(counts_end) {
    if (is_ascii(text)) return;
    numbers_.reserve(text.size());
    uint32_t number = 0;
    for (const char c : text) {
      number += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
      numbers_.push_back(number - 1);
    }
  }

  std::pair<int64_t, int64_t> of(Span span) const {
    if (!numbers_.empty() && counts_end_ && span.begin == bytes_) return {numbers_.back() + 1, numbers_.back() + 1};
    if (numbers_.empty() || span.begin >= bytes_) return {span.begin, span.end};
    const uint32_t begin = numbers_[span.begin];
    if (span.end < bytes_) return {begin, numbers_[span.end]};
    return {begin, (span.end <= bytes_ && span.end > 0 ? numbers_[span.end - 1] : begin) + 1};
  }

 private:
  size_t bytes_;
  bool counts_end_;
  std::vector<uint32_t> numbers_ = {};  // of the character of each byte; empty for ASCII
};

/// Collects the tokens of one text.
class TextEncoder {
 public:
  TextEncoder(const Parts& parts, const TextPool& pool, const EncodeOptions& options, EncodedPart& out)
      : parts_(parts),
        pool_(pool),
        out_(out),
        with_offsets_(options.with_offsets),
        with_spaces_(with_offsets_ && parts.post_processor && parts.post_processor->needs_spaces()) {
    if (with_offsets_) offsets_.emplace(pool.original(), parts.counts_end_in_characters);
  }

  void encode(const Piece& piece) {
    if (piece.id >= 0) {
      add(piece, {piece.id, 0, piece.size()});
      if (with_spaces_) out_.spaces.push_back(spaces_of(pool_.text(piece)));
      return;
    }
    const std::string_view text = pool_.text(piece);
    tokens_.clear();
    parts_.model->encode(text, tokens_);
    for (const Token& token : tokens_) {
      add(piece, token);
      if (!with_spaces_) continue;
      const std::string_view own = text.substr(token.begin, token.end - token.begin);
      out_.spaces.push_back(
          spaces_of(parts_.model->has_own_text(token.id) ? own : parts_.model->vocabulary().text(token.id)));
    }
  }

 private:
  void add(const Piece& piece, const Token& token) {
    out_.encoding.ids.push_back(token.id);
    if (with_offsets_) out_.encoding.offsets.push_back(offsets_->of(pool_.source(piece, token.begin, token.end)));
  }

  const Parts& parts_;
  const TextPool& pool_;
  EncodedPart& out_;
  bool with_offsets_, with_spaces_;
  std::optional<CharacterOffsets> offsets_ = {};
  std::vector<Token> tokens_ = {};
};

}  // namespace

EncodedPart encode_text(const Parts& parts, std::string_view text, int32_t type_id, const EncodeOptions& options) {
  check_utf8(text);
  TextPool pool(text, options.with_offsets || parts.needs_places);
  const std::vector<Piece> pieces = split_text(parts, pool);
  EncodedPart out;
  TextEncoder encoder(parts, pool, options, out);
  for (const Piece& piece : pieces) encoder.encode(piece);
  out.encoding.special_tokens_mask.assign(out.encoding.ids.size(), 0);
  out.encoding.type_ids.assign(out.encoding.ids.size(), type_id);
  return out;
}

}  // namespace levin::data::tokenizers
