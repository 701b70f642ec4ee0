#pragma once
#include <string>

/// A tokenizer.json of these parts, each JSON; the model alone is needed.
inline std::string tokenizer_json(const std::string& model, const std::string& others = "") {
  return R"({"version": "1.0", "truncation": null, "padding": null, )" + others + (others.empty() ? "" : ", ") +
         R"("model": )" + model + "}";
}

/// Byte pairs of the letters a to d, with an unknown token.
inline const std::string& small_bpe() {
  static const std::string model =
      R"({"type": "BPE", "dropout": null, "unk_token": "?", "fuse_unk": true, "byte_fallback": false,
          "vocab": {"?": 0, "a": 1, "b": 2, "c": 3, "d": 4, "ab": 5, "cd": 6, "abcd": 7, "bc": 8},
          "merges": ["a b", ["c", "d"], "ab cd", "b c"]})";
  return model;
}

inline const std::string& small_unigram() {
  static const std::string model =
      R"({"type": "Unigram", "unk_id": 0, "byte_fallback": false,
          "vocab": [["<unk>", 0], ["a", -1], ["b", -1], ["ab", -1.5], ["abc", -9.5], ["c", -2]]})";
  return model;
}

inline const std::string& small_word_piece() {
  static const std::string model =
      R"({"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 8,
          "vocab": {"[UNK]": 0, "un": 1, "##aff": 2, "##able": 3, "##a": 4, ",": 5, "[CLS]": 6, "[SEP]": 7}})";
  return model;
}

/// A field of Protocol Buffers: a text, or a message of up to 127 bytes.
inline std::string protobuf_text(char field, const std::string& text) {
  return std::string{static_cast<char>(field << 3 | 2), static_cast<char>(text.size())} + text;
}

/// A SentencePiece model of letters and pairs of them. `algorithm`: 1 for unigram to 4 for characters. `entry` is one
/// more, of the type 1 (normal) to 6 (byte).
inline std::string small_sentencepiece(char algorithm, const std::string& entry = "b", char type = 1) {
  const auto piece = [](const std::string& text, const std::string& score, char of_type) {
    return protobuf_text(1, protobuf_text(1, text) + "\x15" + score + std::string{'\x18', of_type});
  };
  const std::string minus_one("\0\0\x80\xBF", 4), minus_two("\0\0\0\xC0", 4), zero(4, '\0');
  return piece("<unk>", zero, 2) + piece("<s>", zero, 3) + piece("\u2581", minus_two, 1) + piece("a", minus_two, 1) +
         piece("\u2581a", minus_one, 1) + piece("ab", minus_two, 5) + piece("abab", minus_one, 1) +
         piece(entry, minus_two, type) + protobuf_text(2, std::string{'\x18', algorithm}) +
         protobuf_text(3, protobuf_text(2, std::string("\x08\0\0\0\0\0\0\0\0\0\0\0a\0", 14)));
}
