#include <levin/core/system/error.h>
#include <levin/data/tokenizer.h>

namespace levin {
namespace data::tokenizers {

struct Parts {};

}  // namespace data::tokenizers

namespace {

[[noreturn]] void fail_without_tokenizers(const std::string& name) {
  throw UsageError(name,
                   ": this levin is built without PCRE2 and ICU (LEVIN_TOKENIZERS=OFF) and reads no tokenizers; build "
                   "levin with libpcre2-dev and libicu-dev");
}

}  // namespace

Tokenizer Tokenizer::from_file(const std::filesystem::path& path) { fail_without_tokenizers(path.string()); }

Tokenizer Tokenizer::from_json(std::string_view /*text*/, const std::string& name) { fail_without_tokenizers(name); }

Tokenizer Tokenizer::from_sentencepiece(std::string_view /*bytes*/, const std::string& name) {
  fail_without_tokenizers(name);
}

// There is no tokenizer whose functions could be called.
Encoding Tokenizer::encode(std::string_view /*text*/, EncodeOptions /*options*/) const { return {}; }

Encoding Tokenizer::encode_pair(std::string_view /*first*/, std::string_view /*second*/,
                                EncodeOptions /*options*/) const {
  return {};
}

std::string Tokenizer::decode(std::span<const int32_t> /*ids*/, bool /*skip_special_tokens*/) const { return {}; }

std::optional<int32_t> Tokenizer::token_to_id(std::string_view /*token*/) const { return std::nullopt; }

std::string Tokenizer::id_to_token(int32_t /*id*/) const { return {}; }

int64_t Tokenizer::vocab_size() const { return 0; }

bool Tokenizer::is_special(int32_t /*id*/) const { return false; }

}  // namespace levin
