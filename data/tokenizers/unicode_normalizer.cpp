#include <levin/data/files/utf8.h>
#include <levin/data/tokenizers/normalizer.h>
#include <levin/data/tokenizers/unicode.h>

#include <algorithm>
#include <array>
#include <vector>

namespace levin::data::tokenizers {
namespace {

/// A character that normalization has made, and how it counts against the text's (Rewriter::put).
struct NormalCharacter {
  char32_t code = 0;
  int64_t change = 0;
  uint8_t combining = 0;
};

/// Writes characters in canonical order, and composed if asked.
class NormalWriter {
 public:
  NormalWriter(Rewriter& out, bool composed) : out_(out), composed_(composed) {}

  void decomposed(NormalCharacter character) {
    character.combining = combining_class(character.code);
    if (character.combining == 0) flush_marks();
    marks_.push_back(character);
    if (character.combining == 0) flush_marks();
  }

  void end() {
    flush_marks();
    if (has_base_) write_base();
  }

 private:
  /// Passes on the marks that have been collected, in the order of their classes.
  void flush_marks() {
    std::ranges::stable_sort(marks_, {}, &NormalCharacter::combining);
    for (const NormalCharacter& mark : marks_) {
      if (composed_) {
        compose_next(mark);
      } else {
        out_.put(mark.code, mark.change);
      }
    }
    marks_.clear();
  }

  /// Source: Unicode Standard Annex 15, the composition of characters that are in canonical order.
  void compose_next(const NormalCharacter& next) {
    if (!has_base_) {
      if (next.combining != 0) {
        out_.put(next.code, next.change);
      } else {
        base_ = next;
        has_base_ = true;
      }
      return;
    }
    const bool blocked = !behind_.empty() && behind_.back().combining >= next.combining;
    if (!blocked) {
      if (const char32_t both = compose(base_.code, next.code)) {
        base_.code = both;
        base_.change += next.change - 1;
        return;
      }
    }
    if (next.combining != 0) {
      behind_.push_back(next);
      return;
    }
    write_base();
    base_ = next;
    has_base_ = true;
  }

  void write_base() {
    out_.put(base_.code, base_.change);
    for (const NormalCharacter& mark : behind_) out_.put(mark.code, mark.change);
    behind_.clear();
    has_base_ = false;
  }

  Rewriter& out_;
  bool composed_, has_base_ = false;
  NormalCharacter base_ = {};
  std::vector<NormalCharacter> marks_ = {}, behind_ = {};
};

class UnicodeNormalizer final : public Normalizer {
 public:
  UnicodeNormalizer(bool compatibility, bool composed) : compatibility_(compatibility), composed_(composed) {}
  Piece normalize(TextPool& pool, const Piece& piece) const override {
    return normalize_unicode(pool, piece, compatibility_, composed_);
  }

 private:
  bool compatibility_, composed_;
};

constexpr char32_t kFirstHangul = 0xAC00, kHangul = 11172;

int decompose_any(char32_t code, bool compatibility, char32_t* out) {
  const char32_t hangul = code - kFirstHangul;
  if (code < kFirstHangul || hangul >= kHangul) return decompose(code, compatibility, out);
  out[0] = 0x1100 + hangul / 588;
  out[1] = 0x1161 + hangul % 588 / 28;
  out[2] = 0x11A7 + hangul % 28;
  return hangul % 28 == 0 ? 2 : 3;
}

}  // namespace

NormalizerPtr read_unicode_normalizer(const std::string& type) {
  if (type == "NFD") return std::make_unique<UnicodeNormalizer>(false, false);
  if (type == "NFKD") return std::make_unique<UnicodeNormalizer>(true, false);
  if (type == "NFC") return std::make_unique<UnicodeNormalizer>(false, true);
  if (type == "NFKC") return std::make_unique<UnicodeNormalizer>(true, true);
  return nullptr;
}

Piece normalize_unicode(TextPool& pool, const Piece& piece, bool compatibility, bool composed) {
  const std::string_view text = pool.text(piece);
  // Below these characters there is nothing to do.
  const unsigned char first_byte = compatibility ? 0xC2 : composed ? 0xCC : 0xC3;
  if (std::ranges::all_of(text, [&](char c) { return static_cast<unsigned char>(c) < first_byte; })) return piece;
  Rewriter out(pool, piece);
  NormalWriter writer(out, composed);
  std::array<char32_t, kMostDecomposed> parts = {};
  for (size_t position = 0; position < text.size();) {
    const char32_t code = next_code_point(text, position);
    const int count = decompose_any(code, compatibility, parts.data());
    if (count == 0) writer.decomposed({code, 0});
    for (int i = 0; i < count; ++i) writer.decomposed({parts[static_cast<size_t>(i)], i > 0 ? 1 : 0});
  }
  writer.end();
  return out.finish();
}

}  // namespace levin::data::tokenizers
