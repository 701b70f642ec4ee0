#include <levin/data/files/utf8.h>
#include <levin/data/tokenizers/byte_trie.h>
#include <levin/data/tokenizers/charsmap.h>
#include <levin/data/tokenizers/normalizer.h>
#include <levin/data/tokenizers/sentencepiece.h>

#include <optional>
#include <utility>
#include <vector>

namespace levin::data::tokenizers {
namespace {

/// What the text at a place becomes, and how many of its bytes that replaces.
struct Replacement {
  std::string_view text = {};
  size_t consumed = 0;
};

/// The normalized text, and for each of its bytes the byte of the text given that it comes from.
struct NormalizedText {
  std::string text = {};
  std::vector<uint32_t> from = {};

  void append(std::string_view added, size_t at) {
    text += added;
    from.insert(from.end(), added.size(), static_cast<uint32_t>(at));
  }
};

/// Replaces the longest rule that fits at each place, and writes spaces as U+2581. Source: SentencePiece,
/// src/normalizer.cc.
class SentencePieceNormalizer final : public Normalizer {
 public:
  SentencePieceNormalizer(const SentencePieceFile& file, const std::string& name)
      : adds_prefix_(file.adds_dummy_prefix && !file.whitespace_is_suffix),
        adds_suffix_(file.adds_dummy_prefix && file.whitespace_is_suffix),
        removes_extra_(file.removes_extra_whitespaces),
        space_(file.escapes_whitespaces ? kWhitespaceMark : " "),
        kept_(user_defined_symbols(file)) {
    if (!file.charsmap.empty()) map_.emplace(file.charsmap, name + ": normalizer_spec");
  }

  Piece normalize(TextPool& pool, const Piece& piece) const override {
    const std::string_view text = pool.text(piece);
    NormalizedText normalized;
    normalized.text.reserve(text.size() + text.size() / 2 + 8);
    const size_t end = write(text, normalized);
    normalized.from.push_back(static_cast<uint32_t>(end));
    Rewriter out(pool, piece);
    out.put_mapped(normalized.text, normalized.from);
    return out.finish();
  }

 private:
  /// Writes what a text becomes; returns where in the text given that ends.
  size_t write(std::string_view text, NormalizedText& out) const {
    size_t at = 0;
    while (removes_extra_ && at < text.size()) {
      const Replacement replacement = replace(text.substr(at));
      if (replacement.text != " ") break;
      at += replacement.consumed;
    }
    if (at == text.size()) return at;
    if (adds_prefix_) out.append(space_, at);
    bool behind_space = removes_extra_;
    while (at < text.size()) {
      Replacement replacement = replace(text.substr(at));
      while (behind_space && replacement.text.starts_with(' ')) replacement.text.remove_prefix(1);
      for (const char c : replacement.text) out.append(c == ' ' ? space_ : std::string_view(&c, 1), at);
      if (!replacement.text.empty()) behind_space = removes_extra_ && replacement.text.ends_with(' ');
      at += replacement.consumed;
    }
    while (removes_extra_ && out.text.ends_with(space_)) {
      at = out.from[out.text.size() - space_.size()];
      out.text.resize(out.text.size() - space_.size());
      out.from.resize(out.text.size());
    }
    if (adds_suffix_) out.append(space_, at);
    return at;
  }

  Replacement replace(std::string_view text) const {
    int32_t ignored = 0;
    if (const size_t bytes = kept_.longest(text, ignored)) return {text.substr(0, bytes), bytes};
    if (map_) {
      if (const auto rule = map_->longest(text)) return {rule->text, rule->bytes};
    }
    size_t bytes = 0;
    next_code_point(text, bytes);
    return {text.substr(0, bytes), bytes};
  }

  bool adds_prefix_, adds_suffix_, removes_extra_;
  std::string_view space_;
  ByteTrie kept_;
  std::optional<Charsmap> map_ = {};
};

}  // namespace

ByteTrie user_defined_symbols(const SentencePieceFile& file) {
  ByteTrie::Entries symbols;
  for (size_t id = 0; id < file.entries.size(); ++id) {
    if (file.entries[id].type != SentencePieceType::UserDefined) continue;
    symbols.emplace_back(file.entries[id].text, static_cast<int32_t>(id));
  }
  return ByteTrie(std::move(symbols));
}

NormalizerPtr make_sentencepiece_normalizer(const SentencePieceFile& file, const std::string& name) {
  return std::make_unique<SentencePieceNormalizer>(file, name);
}

}  // namespace levin::data::tokenizers
