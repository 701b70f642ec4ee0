#include <levin/core/system/error.h>
#include <levin/data/tokenizers/model.h>

namespace levin::data::tokenizers {
namespace {

/// A token for each word.
class WordLevel final : public Model {
 public:
  explicit WordLevel(const JsonFields& fields) : unknown_text_(fields.text("unk_token")) {
    fields.allow({"type", "vocab", "unk_token"});
    read_vocabulary(fields, vocabulary_);
    unknown_ = vocabulary_.id(unknown_text_);
  }

  void encode(std::string_view piece, std::vector<Token>& out) const override {
    const int32_t known = vocabulary_.id(piece), id = known >= 0 ? known : unknown_;
    if (id < 0) {
      throw UsageError("Tokenizer: the vocabulary lacks its unknown token '", unknown_text_, "', and the text has '",
                       std::string(piece.substr(0, 100)), "', which is unknown");
    }
    out.push_back({id, 0, static_cast<uint32_t>(piece.size())});
  }

 private:
  std::string unknown_text_;
  int32_t unknown_ = -1;
};

}  // namespace

ModelPtr read_word_level(const JsonFields& fields) { return std::make_unique<WordLevel>(fields); }

}  // namespace levin::data::tokenizers
