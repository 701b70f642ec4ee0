#include <levin/data/files/utf8.h>
#include <levin/data/tokenizers/filter_piece.h>
#include <levin/data/tokenizers/normalizer.h>
#include <levin/data/tokenizers/unicode.h>

#include <algorithm>

namespace levin::data::tokenizers {
namespace {

bool is_blank(char32_t code) { return code == '\t' || code == '\n' || code == '\r'; }

bool is_clean(char32_t code) { return code != 0 && code != 0xFFFD && (is_blank(code) || !is_other(code)); }

char32_t plain_space(char32_t code) { return is_space(code) ? U' ' : code; }

Piece space_chinese(TextPool& pool, const Piece& piece) {
  const std::string_view text = pool.text(piece);
  bool any = false;
  for (size_t position = 0; position < text.size() && !any;) any = is_chinese(next_code_point(text, position));
  if (!any) return piece;
  Rewriter out(pool, piece);
  for (size_t position = 0; position < text.size();) {
    const char32_t code = next_code_point(text, position);
    if (is_chinese(code)) {
      out.put(' ', 0);
      out.put(code, 1);
      out.put(' ', 1);
    } else {
      out.put(code, 0);
    }
  }
  return out.finish();
}

/// What BERT's own basic tokenizer does before it splits.
class BertNormalizer final : public Normalizer {
 public:
  explicit BertNormalizer(const JsonFields& fields)
      : clean_(fields.boolean("clean_text")),
        spaces_chinese_(fields.boolean("handle_chinese_chars")),
        lower_(fields.boolean("lowercase")),
        strips_accents_(fields.boolean_or("strip_accents", lower_)) {
    fields.allow({"type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
  }

  Piece normalize(TextPool& pool, const Piece& piece) const override {
    Piece now = piece;
    if (clean_) now = map_piece(pool, filter_piece(pool, now, is_clean), plain_space);
    const bool ascii = is_ascii(pool.text(now));
    if (spaces_chinese_ && !ascii) now = space_chinese(pool, now);
    if (strips_accents_ && !ascii) {
      now = normalize_unicode(pool, now, false, false);
      now = filter_piece(pool, now, [](char32_t code) { return !is_nonspacing_mark(code); });
    }
    return lower_ ? lower_piece(pool, now) : now;
  }

 private:
  bool clean_, spaces_chinese_, lower_, strips_accents_;
};

}  // namespace

NormalizerPtr read_bert_normalizer(const JsonFields& fields) { return std::make_unique<BertNormalizer>(fields); }

}  // namespace levin::data::tokenizers
