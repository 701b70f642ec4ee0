#include <levin/data/tokenizers/sentencepiece_file.h>
#include <levin/core/system/error.h>
#include <levin/data/files/utf8.h>
#include <levin/data/tokenizers/json_fields.h>
#include <levin/data/tokenizers/protobuf_reader.h>

#include <cmath>

namespace levin::data::tokenizers {
namespace {

SentencePieceEntry read_entry(std::string_view bytes, const std::string& place) {
  SentencePieceEntry entry;
  ProtobufReader reader(bytes, place);
  while (reader.next()) {
    if (reader.field() == 1) entry.text = reader.bytes();
    if (reader.field() == 2) entry.score = reader.number();
    if (reader.field() == 3) {
      const uint64_t type = reader.integer();
      if (type < 1 || type > 6) throw UsageError(place, ": has the type ", type, "; levin knows 1 to 6");
      entry.type = static_cast<SentencePieceType>(type);
    }
  }
  if (entry.text.empty()) throw UsageError(place, ": is empty");
  if (!is_utf8(entry.text)) throw UsageError(place, ": is not UTF-8");
  if (!std::isfinite(entry.score)) throw UsageError(place, ": has a score that is no number");
  return entry;
}

void read_trainer(std::string_view bytes, const std::string& name, SentencePieceFile& file) {
  ProtobufReader reader(bytes, name + ": trainer_spec");
  while (reader.next()) {
    if (reader.field() == 3) {
      const uint64_t algorithm = reader.integer();
      if (algorithm < 1 || algorithm > 4) {
        throw UsageError(name, ": has the model_type ", algorithm, "; levin knows 1 (unigram) to 4 (char)");
      }
      file.algorithm = static_cast<SentencePieceAlgorithm>(algorithm);
    }
    if (reader.field() == 24) file.whitespace_is_suffix = reader.integer() != 0;
    if (reader.field() == 35) file.byte_fallback = reader.integer() != 0;
    if (reader.field() == 44) file.unknown_surface = reader.bytes();
  }
}

void read_normalizer(std::string_view bytes, const std::string& name, SentencePieceFile& file) {
  ProtobufReader reader(bytes, name + ": normalizer_spec");
  while (reader.next()) {
    if (reader.field() == 2) file.charsmap = reader.bytes();
    if (reader.field() == 3) file.adds_dummy_prefix = reader.integer() != 0;
    if (reader.field() == 4) file.removes_extra_whitespaces = reader.integer() != 0;
    if (reader.field() == 5) file.escapes_whitespaces = reader.integer() != 0;
  }
}

void refuse_denormalizer(std::string_view bytes, const std::string& name) {
  ProtobufReader reader(bytes, name + ": denormalizer_spec");
  while (reader.next()) {
    if (reader.field() == 2 && !reader.bytes().empty()) {
      throw UsageError(name, ": decodes by rules of its own (denormalizer_spec), which levin does not do");
    }
  }
}

}  // namespace

SentencePieceFile read_sentencepiece(std::string_view bytes, const std::string& name) {
  SentencePieceFile file;
  ProtobufReader reader(bytes, name);
  while (reader.next()) {
    if (reader.field() == 1) {
      if (static_cast<int64_t>(file.entries.size()) > kMostId) throw UsageError(name, ": has too many pieces");
      file.entries.push_back(read_entry(reader.bytes(), name + ": piece " + std::to_string(file.entries.size())));
    }
    if (reader.field() == 2) read_trainer(reader.bytes(), name, file);
    if (reader.field() == 3) read_normalizer(reader.bytes(), name, file);
    if (reader.field() == 5) refuse_denormalizer(reader.bytes(), name);
  }
  if (file.entries.empty()) throw UsageError(name, ": has no pieces; is it a SentencePiece model?");
  return file;
}

}  // namespace levin::data::tokenizers
