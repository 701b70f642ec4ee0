#include <levin/data/tokenizers/sentencepiece_model.h>
#include <levin/core/system/error.h>
#include <levin/data/files/utf8.h>

#include <algorithm>

namespace levin::data::tokenizers {
namespace {

/// Words: what begins with the mark of a space.
class SentencePieceWords final : public SentencePieceModel {
 public:
  using SentencePieceModel::SentencePieceModel;

 private:
  void segment(std::string_view text, std::vector<Token>& out) const override {
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find(kWhitespaceMark, begin + 1), text.size());
      const int32_t id = id_of(text.substr(begin, end - begin));
      out.push_back({id, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
      begin = end;
    }
  }
};

/// Characters, and symbols that the user defined.
class SentencePieceCharacters final : public SentencePieceModel {
 public:
  SentencePieceCharacters(const SentencePieceFile& file, const std::string& name)
      : SentencePieceModel(file, name), symbols_(user_defined_symbols(file)) {}

 private:
  void segment(std::string_view text, std::vector<Token>& out) const override {
    for (size_t begin = 0; begin < text.size();) {
      int32_t ignored = 0;
      size_t end = begin + symbols_.longest(text.substr(begin), ignored);
      if (end == begin) next_code_point(text, end);
      const int32_t id = id_of(text.substr(begin, end - begin));
      out.push_back({id, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
      begin = end;
    }
  }

  ByteTrie symbols_;
};

}  // namespace

SentencePieceModel::SentencePieceModel(const SentencePieceFile& file, const std::string& name) {
  vocabulary_.reserve(file.entries.size());
  // Of an entry and a reserved one with the same text, the reserved one counts; it is added last.
  for (const bool segments : {true, false}) {
    for (size_t id = 0; id < file.entries.size(); ++id) {
      const SentencePieceEntry& entry = file.entries[id];
      if (entry.is_segment() == segments) vocabulary_.add(entry.text, static_cast<int32_t>(id));
    }
  }
  for (const SentencePieceEntry& entry : file.entries) {
    types_.push_back(entry.type);
    if (entry.type != SentencePieceType::Unknown) continue;
    if (unknown_ >= 0) throw UsageError(name, ": has two unknown pieces");
    unknown_ = static_cast<int32_t>(types_.size()) - 1;
  }
  if (unknown_ < 0) throw UsageError(name, ": has no unknown piece");
  if (!file.byte_fallback) return;
  byte_tokens_ = byte_tokens_of(vocabulary_);
  for (const int32_t id : byte_tokens_) {
    if (!has_type(id, SentencePieceType::Byte)) throw UsageError(name, ": lacks pieces of bytes (byte_fallback)");
  }
}

int32_t SentencePieceModel::id_of(std::string_view segment) const {
  const int32_t id = vocabulary_.id(segment);
  return id >= 0 ? id : unknown_;
}

void SentencePieceModel::encode(std::string_view piece, std::vector<Token>& out) const {
  const size_t first = out.size();
  segment(piece, out);
  name_unknown(piece, first, out);
}

void SentencePieceModel::name_unknown(std::string_view text, size_t first, std::vector<Token>& out) const {
  const auto begin = out.begin() + static_cast<int64_t>(first);
  const auto is_unknown = [&](const Token& token) { return token.id == unknown_; };
  if (std::none_of(begin, out.end(), is_unknown)) return;
  const std::vector<Token> segments(begin, out.end());
  out.resize(first);
  for (const Token& token : segments) {
    if (!is_unknown(token)) {
      out.push_back(token);
    } else if (!byte_tokens_.empty()) {
      for (uint32_t i = token.begin; i < token.end; ++i) {
        out.push_back({byte_tokens_[static_cast<unsigned char>(text[i])], token.begin, token.end});
      }
    } else if (out.size() > first && is_unknown(out.back())) {
      out.back().end = token.end;
    } else {
      out.push_back(token);
    }
  }
}

ModelPtr make_sentencepiece_model(const SentencePieceFile& file, const std::string& name) {
  if (file.algorithm == SentencePieceAlgorithm::Unigram) return make_sentencepiece_unigram(file, name);
  if (file.algorithm == SentencePieceAlgorithm::Bpe) return make_sentencepiece_bpe(file, name);
  if (file.algorithm == SentencePieceAlgorithm::Word) return std::make_unique<SentencePieceWords>(file, name);
  return std::make_unique<SentencePieceCharacters>(file, name);
}

}  // namespace levin::data::tokenizers
