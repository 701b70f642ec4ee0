#include <levin/core/system/error.h>
#include <levin/data/tokenizers/post_processor.h>

#include <algorithm>
#include <map>
#include <utility>

namespace levin::data::tokenizers {
namespace {

/// A token of the template's list, which may stand for several.
struct TemplateToken {
  std::vector<int32_t> ids = {};
  std::vector<TokenSpaces> spaces = {};
};

/// A part of a template: one of the texts, or a token.
struct TemplatePiece {
  int text = -1;  // 0 or 1; -1: the token
  const TemplateToken* token = nullptr;
  int32_t type_id = 0;
};

/// Puts texts and tokens together as a template says.
class TemplateProcessor final : public PostProcessor {
 public:
  explicit TemplateProcessor(const JsonFields& fields) {
    fields.allow({"type", "single", "pair", "special_tokens"});
    read_tokens(fields);
    single_ = read_pieces(fields, "single", 1);
    pair_ = read_pieces(fields, "pair", 2);
    constexpr int64_t kMostAdded = 10'000;
    if (added(false) > kMostAdded || added(true) > kMostAdded ||
        std::max(single_.size(), pair_.size()) > size_t{1000}) {
      fields.fail("a template has too many pieces");
    }
  }

  int64_t added(bool is_pair) const override {
    int64_t count = 0;
    for (const TemplatePiece& piece : is_pair ? pair_ : single_) {
      if (piece.token) count += static_cast<int64_t>(piece.token->ids.size());
    }
    return count;
  }

  void process(std::vector<EncodedPart>& parts, const EncodeOptions& options) const override {
    std::vector<EncodedPart> all;
    for (const TemplatePiece& piece : parts.size() == 2 ? pair_ : single_) {
      if (!piece.token) {
        all.push_back(parts[static_cast<size_t>(piece.text)]);
        all.back().encoding.type_ids.assign(all.back().encoding.ids.size(), piece.type_id);
      } else if (options.add_special_tokens) {
        all.push_back(part_of_added(piece.token->ids, piece.token->spaces, piece.type_id, options));
      }
    }
    parts = std::move(all);
  }

  bool is_template() const override { return true; }

 private:
  void read_tokens(const JsonFields& fields) {
    const JsonFields all = fields.object("special_tokens");
    for (const auto& entry : fields.at("special_tokens").items()) {
      const JsonFields one(entry.value(), all.place_of(entry.key().substr(0, 100).c_str()));
      one.allow({"id", "ids", "tokens"});
      TemplateToken token;
      for (const Json& id : one.list("ids")) token.ids.push_back(json_id_of(id, one.place_of("ids")));
      for (const Json& text : one.list("tokens")) {
        token.spaces.push_back(spaces_of(json_text_of(text, one.place_of("tokens"))));
      }
      if (token.ids.size() != token.spaces.size()) one.fail("has not as many 'ids' as 'tokens'");
      tokens_[entry.key()] = std::move(token);
    }
  }

  std::vector<TemplatePiece> read_pieces(const JsonFields& fields, const char* name, int texts) const {
    std::vector<TemplatePiece> pieces;
    for (const Json& entry : fields.list(name)) {
      const JsonFields either(entry, fields.place_of(name, pieces.size()));
      either.allow({"Sequence", "SpecialToken"});
      TemplatePiece piece;
      const bool is_text = either.has("Sequence");
      const JsonFields one = either.object(is_text ? "Sequence" : "SpecialToken");
      one.allow({"id", "type_id"});
      piece.type_id = static_cast<int32_t>(one.count("type_id", kMostId));
      const std::string id = one.text("id");
      if (is_text) {
        if (id != "A" && id != "B") one.fail("'id' is neither A nor B");
        piece.text = id == "A" ? 0 : 1;
        if (piece.text >= texts) one.fail("a template of one text has no second one");
      } else {
        const auto found = tokens_.find(id);
        if (found == tokens_.end()) one.fail("'special_tokens' has no '" + id.substr(0, 100) + "'");
        piece.token = &found->second;
      }
      pieces.push_back(piece);
    }
    return pieces;
  }

  std::map<std::string, TemplateToken> tokens_ = {};
  std::vector<TemplatePiece> single_ = {}, pair_ = {};
};

}  // namespace

PostProcessorPtr read_template(const JsonFields& fields) { return std::make_unique<TemplateProcessor>(fields); }

}  // namespace levin::data::tokenizers
