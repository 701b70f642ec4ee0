#include <levin/data/tokenizers/model.h>
#include <levin/core/system/error.h>

#include <array>
#include <cstdio>

namespace levin::data::tokenizers {
namespace {

/// Returns the type of a model; older files do not name it.
std::string type_of_model(const JsonFields& fields) {
  if (fields.has("type")) return fields.text("type");
  if (fields.has("merges")) return "BPE";
  if (fields.at("vocab").is_array()) return "Unigram";
  return fields.has("continuing_subword_prefix") ? "WordPiece" : "WordLevel";
}

}  // namespace

ModelPtr read_model(const JsonFields& fields) {
  const std::string type = type_of_model(fields);
  if (type == "BPE") return read_bpe(fields);
  if (type == "Unigram") return read_unigram(fields);
  if (type == "WordPiece") return read_word_piece(fields);
  if (type == "WordLevel") return read_word_level(fields);
  fields.fail("levin does not know the model '" + type.substr(0, 100) +
              "'; it knows BPE, Unigram, WordPiece and WordLevel");
}

void read_vocabulary(const JsonFields& fields, Vocabulary& vocabulary) {
  const Json& tokens = fields.at("vocab");
  const std::string place = fields.place_of("vocab");
  if (!tokens.is_object()) throw UsageError(place, ": is ", tokens.type_name(), ", not an object of tokens and ids");
  vocabulary.reserve(tokens.size());
  for (const auto& token : tokens.items()) {
    if (!token.value().is_number_unsigned() || token.value().get<uint64_t>() > static_cast<uint64_t>(kMostId)) {
      json_id_of(token.value(), place + "['" + token.key().substr(0, 100) + "']");  // throws
    }
    vocabulary.add(token.key(), static_cast<int32_t>(token.value().get<int64_t>()));
  }
}

std::vector<int32_t> byte_tokens_of(const Vocabulary& vocabulary) {
  std::vector<int32_t> ids;
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::array<char, 8> text = {};
    std::snprintf(text.data(), text.size(), "<0x%02X>", byte);
    ids.push_back(vocabulary.id(text.data()));
  }
  return ids;
}

}  // namespace levin::data::tokenizers
