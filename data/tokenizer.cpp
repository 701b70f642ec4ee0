#include <levin/data/tokenizer.h>
#include <levin/core/system/error.h>
#include <levin/core/system/file_calls.h>
#include <levin/data/tokenizers/parts.h>

#include <algorithm>
#include <system_error>

namespace levin {
namespace {

using data::tokenizers::EncodedPart;

/// Truncates the texts, and puts them together with what the post-processor adds.
Encoding assemble_encoding(const data::tokenizers::Parts& parts, std::vector<EncodedPart> texts,
                           const EncodeOptions& options) {
  if (options.max_length || (parts.truncation && options.truncate)) {
    const bool adds = options.add_special_tokens && parts.post_processor;
    const auto truncation = options.max_length ? data::tokenizers::Truncation(*options.max_length) : *parts.truncation;
    truncate(truncation, adds ? parts.post_processor->added(texts.size() == 2) : 0, texts);
  }
  if (parts.post_processor) parts.post_processor->process(texts, options);
  if (texts.empty()) return {};
  for (size_t i = 1; i < texts.size(); ++i) append_part(texts[0], texts[i]);
  return std::move(texts[0].encoding);
}

}  // namespace

Tokenizer Tokenizer::from_file(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::path file = std::filesystem::is_directory(path, ignored) ? path / "tokenizer.json" : path;
  std::string text;
  if (const int error = read_file(file, text)) {
    throw UsageError(file.string(), ": cannot be read: ", std::generic_category().message(error),
                     "; name a tokenizer.json, a folder that has one, or a SentencePiece model");
  }
  if (file.extension() == ".model") return from_sentencepiece(text, file.string());
  return from_json(text, file.string());
}

Tokenizer Tokenizer::from_json(std::string_view text, const std::string& name) {
  return Tokenizer(data::tokenizers::read_parts(text, name));
}

Tokenizer Tokenizer::from_sentencepiece(std::string_view bytes, const std::string& name) {
  return Tokenizer(data::tokenizers::read_sentencepiece_parts(bytes, name));
}

Encoding Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  std::vector<EncodedPart> texts;
  texts.push_back(encode_text(*parts_, text, 0, options));
  return assemble_encoding(*parts_, std::move(texts), options);
}

Encoding Tokenizer::encode_pair(std::string_view first, std::string_view second, EncodeOptions options) const {
  std::vector<EncodedPart> texts;
  texts.push_back(encode_text(*parts_, first, 0, options));
  texts.push_back(encode_text(*parts_, second, 1, options));
  return assemble_encoding(*parts_, std::move(texts), options);
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special_tokens) const {
  return decode_ids(*parts_, ids, skip_special_tokens);
}

std::optional<int32_t> Tokenizer::token_to_id(std::string_view token) const {
  int32_t id = parts_->added.id(std::string(token));
  if (id < 0) id = parts_->model->vocabulary().id(token);
  return id < 0 ? std::nullopt : std::optional(id);
}

std::string Tokenizer::id_to_token(int32_t id) const {
  if (const auto* const token = parts_->added.find(id)) return token->pattern;
  const std::string_view text = parts_->model->vocabulary().text(id);
  if (!text.data()) throw UsageError("Tokenizer: no token has the id ", id, "; the vocabulary has ", vocab_size());
  return std::string(text);
}

int64_t Tokenizer::vocab_size() const { return parts_->model->size() + parts_->added.count_beside(*parts_->model); }

bool Tokenizer::is_special(int32_t id) const {
  const auto* const token = parts_->added.find(id);
  return token ? token->special : parts_->model->is_special(id);
}

}  // namespace levin
