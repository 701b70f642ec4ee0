#include <levin/data/tokenizers/parse_json.h>
#include <levin/data/tokenizers/parts.h>
#include <levin/data/tokenizers/sentencepiece.h>

#include <algorithm>

namespace levin::data::tokenizers {

std::shared_ptr<const Parts> read_parts(std::string_view text, const std::string& name) {
  const Json json = parse_tokenizer_json(text, name);
  const JsonFields fields(json, name);
  fields.allow({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
                "decoder", "model"});
  if (fields.has("version") && fields.text("version") != "1.0") {
    fields.fail("has the version '" + fields.text("version").substr(0, 100) + "'; levin knows 1.0");
  }
  const auto parts = std::make_shared<Parts>();
  const auto read = [&](const char* part, const auto& reader) {
    if (fields.has(part)) reader(fields.at(part), name + ": " + part);
  };
  parts->model = read_model(JsonFields(fields.at("model"), name + ": model"));
  read("normalizer",
       [&](const Json& from, const std::string& place) { parts->normalizer = read_normalizer(from, place); });
  read("pre_tokenizer",
       [&](const Json& from, const std::string& place) { parts->pre_tokenizers = read_pre_tokenizer(from, place); });
  read("post_processor",
       [&](const Json& from, const std::string& place) { parts->post_processor = read_post_processor(from, place); });
  read("decoder", [&](const Json& from, const std::string& place) { parts->decoder = read_decoder(from, place); });
  read("truncation",
       [&](const Json& from, const std::string& place) { parts->truncation.emplace(JsonFields(from, place)); });
  read("added_tokens", [&](const Json& from, const std::string& place) {
    parts->added = AddedTokens(from, place, *parts->model, parts->normalizer.get());
  });
  auto& steps = parts->pre_tokenizers;
  parts->needs_places = std::ranges::any_of(steps, [](const auto& step) { return step->depends_on_place(); });
  if (!steps.empty() && steps.back()->is_byte_level() && parts->model->take_bytes()) {
    parts->takes_bytes = true;
    steps.pop_back();
  }
  return parts;
}

std::shared_ptr<const Parts> read_sentencepiece_parts(std::string_view bytes, const std::string& name) {
  const SentencePieceFile file = read_sentencepiece(bytes, name);
  const auto parts = std::make_shared<Parts>();
  parts->model = make_sentencepiece_model(file, name);
  parts->normalizer = make_sentencepiece_normalizer(file, name);
  parts->decoder = make_sentencepiece_decoder(file);
  parts->counts_end_in_characters = true;
  return parts;
}

}  // namespace levin::data::tokenizers
