#pragma once
#include <levin/data/tokenizers/byte_trie.h>
#include <levin/data/tokenizers/decoder.h>
#include <levin/data/tokenizers/model.h>
#include <levin/data/tokenizers/normalizer.h>
#include <levin/data/tokenizers/sentencepiece_file.h>

#include <string>
#include <string_view>

namespace levin::data::tokenizers {

/// What stands for a space in pieces: U+2581.
inline constexpr std::string_view kWhitespaceMark = "\xE2\x96\x81";

// The parts of a tokenizer that is read from a SentencePiece model. They throw levin::UsageError with the prefix
// `name`.
NormalizerPtr make_sentencepiece_normalizer(const SentencePieceFile& file, const std::string& name);
ModelPtr make_sentencepiece_model(const SentencePieceFile& file, const std::string& name);
DecoderPtr make_sentencepiece_decoder(const SentencePieceFile& file);

/// Returns the symbols that are always one token, by id: neither normalized nor merged.
ByteTrie user_defined_symbols(const SentencePieceFile& file);

}  // namespace levin::data::tokenizers
