#include <levin/data/tokenizers/normalizer.h>
#include <levin/data/files/utf8.h>
#include <levin/data/tokenizers/byte_level.h>
#include <levin/data/tokenizers/filter_piece.h>
#include <levin/data/tokenizers/unicode.h>

#include <array>
#include <utility>
#include <vector>

namespace levin::data::tokenizers {
namespace {

template <class Function>
class FunctionNormalizer final : public Normalizer {
 public:
  explicit FunctionNormalizer(Function function) : function_(std::move(function)) {}
  Piece normalize(TextPool& pool, const Piece& piece) const override { return function_(pool, piece); }

 private:
  Function function_;
};

template <class Function>
NormalizerPtr normalizer_of_function(Function function) {
  return std::make_unique<FunctionNormalizer<Function>>(std::move(function));
}

class NormalizerSequence final : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<NormalizerPtr> steps) : steps_(std::move(steps)) {}
  Piece normalize(TextPool& pool, const Piece& piece) const override {
    Piece now = piece;
    for (const NormalizerPtr& step : steps_) now = step->normalize(pool, now);
    return now;
  }

 private:
  std::vector<NormalizerPtr> steps_;
};

/// Removes spaces at the ends. What is cut off the left and right is counted as the package does it: the last character
/// that stays takes what is removed behind it.
Piece strip_piece(TextPool& pool, const Piece& piece, bool left, bool right) {
  const std::string_view text = pool.text(piece);
  size_t begin = 0, end = text.size();
  for (size_t position = 0; left && position < text.size(); begin = position) {
    if (!is_space(next_code_point(text, position))) break;
  }
  while (right && end > 0) {
    size_t last = end - 1;
    while (last > 0 && (static_cast<unsigned char>(text[last]) & 0xC0) == 0x80) --last;
    size_t position = last;
    if (!is_space(next_code_point(text, position))) break;
    end = last;
  }
  if (begin == 0 && end == text.size()) return piece;
  Rewriter out(pool, piece, begin);
  if (begin < end) out.copy(end - begin);
  return out.finish();
}

bool is_nmt_control(char32_t code) {
  return (code >= 1 && code <= 8) || code == 0xB || (code >= 0xE && code <= 0x1F) || code == 0x7F || code == 0x8F ||
         code == 0x9F;
}

char32_t nmt_space(char32_t code) {
  const bool is_space_there = code == 9 || code == 0xA || code == 0xC || code == 0xD || code == 0x1680 ||
                              (code >= 0x200B && code <= 0x200F) || code == 0x2028 || code == 0x2029 ||
                              code == 0x2581 || code == 0xFEFF || code == 0xFFFD;
  return is_space_there ? U' ' : code;
}

constexpr int64_t kDeepest = 20;

NormalizerPtr read_nested(const Json& json, const std::string& place, int64_t depth) {
  const JsonFields fields(json, place);
  const std::string type = fields.text("type");
  if (type == "Sequence") {
    fields.allow({"type", "normalizers"});
    if (depth > kDeepest) fields.fail("sequences are nested too deeply");
    std::vector<NormalizerPtr> steps;
    for (const Json& step : fields.list("normalizers")) {
      steps.push_back(read_nested(step, fields.place_of("normalizers", steps.size()), depth + 1));
    }
    return std::make_unique<NormalizerSequence>(std::move(steps));
  }
  if (type == "BertNormalizer") return read_bert_normalizer(fields);
  if (type == "Precompiled") return read_precompiled(fields);
  if (type == "Replace") return read_replace(fields);
  if (type == "Strip") {
    fields.allow({"type", "strip_left", "strip_right"});
    return normalizer_of_function(
        [left = fields.boolean("strip_left"), right = fields.boolean("strip_right")](
            TextPool& pool, const Piece& piece) { return strip_piece(pool, piece, left, right); });
  }
  if (type == "Prepend") {
    fields.allow({"type", "prepend"});
    return normalizer_of_function(
        [text = fields.text("prepend")](TextPool& pool, const Piece& piece) { return prepend_to(pool, piece, text); });
  }
  constexpr std::array<std::string_view, 8> kPlain = {"NFC",       "NFD",          "NFKC", "NFKD",
                                                      "Lowercase", "StripAccents", "Nmt",  "ByteLevel"};
  for (const std::string_view known : kPlain) {
    if (type == known) fields.allow({"type"});
  }
  if (type.starts_with("NF")) {
    if (NormalizerPtr normalizer = read_unicode_normalizer(type)) return normalizer;
  }
  if (type == "Lowercase") return normalizer_of_function(lower_piece);
  if (type == "StripAccents") {
    return normalizer_of_function([](TextPool& pool, const Piece& piece) {
      return filter_piece(pool, piece, [](char32_t code) { return !is_mark(code); });
    });
  }
  if (type == "Nmt") {
    return normalizer_of_function([](TextPool& pool, const Piece& piece) {
      const Piece kept = filter_piece(pool, piece, [](char32_t code) { return !is_nmt_control(code); });
      return map_piece(pool, kept, nmt_space);
    });
  }
  if (type == "ByteLevel") return normalizer_of_function(to_byte_level);
  fields.fail("levin does not know the normalizer '" + type.substr(0, 100) + "'");
}

}  // namespace

NormalizerPtr read_normalizer(const Json& json, const std::string& place) { return read_nested(json, place, 0); }

Piece lower_piece(TextPool& pool, const Piece& piece) {
  const std::string_view text = pool.text(piece);
  std::array<char32_t, 2> lower = {};
  const auto changes = [&](char32_t code) { return lower_case(code, lower.data()) != 1 || lower[0] != code; };
  bool any = false;
  for (size_t position = 0; position < text.size() && !any;) {
    const auto byte = static_cast<unsigned char>(text[position]);
    if (byte < 0x80) {
      any = byte >= 'A' && byte <= 'Z';
      ++position;
    } else {
      any = changes(next_code_point(text, position));
    }
  }
  if (!any) return piece;
  Rewriter out(pool, piece);
  for (size_t position = 0; position < text.size();) {
    const auto byte = static_cast<unsigned char>(text[position]);
    if (byte < 0x80) {
      out.put_ascii(static_cast<char>(byte >= 'A' && byte <= 'Z' ? byte + 32 : byte));
      ++position;
      continue;
    }
    const int count = lower_case(next_code_point(text, position), lower.data());
    for (int i = 0; i < count; ++i) out.put(lower[static_cast<size_t>(i)], i > 0 ? 1 : 0);
  }
  return out.finish();
}

Piece prepend_to(TextPool& pool, const Piece& piece, std::string_view text) {
  const std::string_view given = pool.text(piece);
  if (given.empty() || text.empty()) return piece;
  Rewriter out(pool, piece);
  out.put_text(text, 0);
  out.copy(given.size());
  return out.finish();
}

Piece to_byte_level(TextPool& pool, const Piece& piece) {
  const std::string_view text = pool.text(piece);
  if (text.empty()) return piece;
  Rewriter out(pool, piece);
  for (size_t i = 0; i < text.size(); ++i) {
    // All bytes of a character come from where its first byte does.
    const bool first = (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
    if (!first) out.skip(1);
    const std::string_view character = byte_level_text(static_cast<unsigned char>(text[i]));
    if (first) {
      out.put_text(character, 1);
    } else {
      out.insert(character);
    }
  }
  return out.finish();
}

}  // namespace levin::data::tokenizers
