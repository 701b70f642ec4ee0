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
