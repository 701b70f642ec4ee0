#include <levin/data/tokenizers/metaspace.h>
#include <levin/data/files/utf8.h>
#include <levin/data/tokenizers/normalizer.h>
#include <levin/data/tokenizers/pre_tokenizer.h>

#include <algorithm>
#include <string>

namespace levin::data::tokenizers {
namespace {

class MetaspaceSplit final : public PreTokenizer {
 public:
  explicit MetaspaceSplit(const MetaspaceOptions& options) : options_(options) {
    append_utf8(mark_, options.replacement);
  }

  void split(TextPool& pool, const Piece& given, std::vector<Piece>& out) const override {
    Piece piece = given;
    const std::string_view before = pool.text(piece);
    const bool prepends =
        !before.starts_with(mark_) && !before.starts_with(' ') &&
        (options_.scheme == PrependScheme::Always || (options_.scheme == PrependScheme::First && piece.shift == 0));
    if (prepends || before.find(' ') != std::string_view::npos) piece = rewrite(pool, piece, prepends);
    if (!options_.split) {
      out.push_back(piece);
      return;
    }
    const std::string_view text = pool.text(piece);
    size_t begin = 0;
    while (begin < text.size()) {
      const size_t next = std::min(text.find(mark_, begin + 1), text.size());
      out.push_back(pool.slice(piece, begin, next));
      begin = next;
    }
  }

  bool depends_on_place() const override { return options_.scheme == PrependScheme::First; }

 private:
  /// Replaces spaces by the mark, and writes one before the text if `prepends`.
  Piece rewrite(TextPool& pool, const Piece& piece, bool prepends) const {
    const std::string_view text = pool.text(piece);
    Rewriter out(pool, piece);
    if (prepends && !text.empty()) out.put_text(mark_, 0);
    for (size_t position = 0; position < text.size();) {
      if (text[position] == ' ') {
        out.put_text(mark_, 1);
        ++position;
        continue;
      }
      const size_t next = std::min(text.find(' ', position), text.size());
      out.copy(next - position);
      position = next;
    }
    return out.finish();
  }

  MetaspaceOptions options_;
  std::string mark_ = {};
};

}  // namespace

MetaspaceOptions::MetaspaceOptions(const JsonFields& fields) : replacement(fields.character("replacement")) {
  fields.allow({"type", "replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep"});
  const std::string name = fields.text_or("prepend_scheme", "always");
  if (name != "first" && name != "never" && name != "always") {
    fields.fail("'prepend_scheme' is not one of first, never, always");
  }
  scheme = name == "first" ? PrependScheme::First : name == "never" ? PrependScheme::Never : PrependScheme::Always;
  if (!fields.boolean_or("add_prefix_space", true)) {
    if (fields.has("prepend_scheme") && scheme != PrependScheme::Never) {
      fields.fail("'add_prefix_space' is false, but 'prepend_scheme' is not never");
    }
    scheme = PrependScheme::Never;
  }
  split = fields.boolean_or("split", true);
}

std::unique_ptr<const PreTokenizer> read_metaspace(const JsonFields& fields) {
  return std::make_unique<MetaspaceSplit>(MetaspaceOptions(fields));
}

}  // namespace levin::data::tokenizers
