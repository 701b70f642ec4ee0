#pragma once
#include <cstdint>

namespace levin::data::tokenizers {

/// What the package tokenizers takes characters for, by ICU.
///
/// The package's parts know Unicode in different versions: its categories (punctuation, marks, controls) are those of
/// Unicode 8 and 9, its normalization that of Unicode 11, the rest is as new as the package. The functions below leave
/// out what is newer than those, so that results are the same whichever ICU there is. What is newer than ICU itself
/// is unassigned for them.

/// Returns whether a character is a space, in the sense of Unicode's White_Space.
bool is_space(char32_t code);
/// Returns whether a character is a decimal digit, or another number.
bool is_numeric(char32_t code);
/// Returns whether a character is part of a word, in the sense of Unicode's regular expressions (UTS 18).
bool is_word(char32_t code);
/// Returns whether a character is punctuation, or a symbol of ASCII.
bool is_punctuation(char32_t code);
/// Returns whether a character is a control, a format character, or for private use.
bool is_other(char32_t code);
/// Returns whether a character is a nonspacing mark.
bool is_nonspacing_mark(char32_t code);
/// Returns whether a character is a mark of any kind.
bool is_mark(char32_t code);
/// Returns whether a character is a Chinese one, in the sense of BERT.
bool is_chinese(char32_t code);

/// Writes the lower case of a character to `out`, which has room for 2, and returns how many characters that are.
int lower_case(char32_t code, char32_t* out);

/// The most characters that one decomposes to.
inline constexpr int kMostDecomposed = 18;
/// Writes a character's full decomposition to `out`, which has room for kMostDecomposed, and returns how many
/// characters that are; 0 if it is its own.
int decompose(char32_t code, bool compatibility, char32_t* out);
/// Returns a character's canonical combining class.
uint8_t combining_class(char32_t code);
/// Returns the composition of two characters; 0 if there is none.
char32_t compose(char32_t first, char32_t second);

/// Where characters that are read one after another end a grapheme cluster. Source: Unicode Standard Annex 29.
class GraphemeBreaks {
 public:
  /// Takes the next character, and returns whether a cluster begins with it.
  bool begins(char32_t code);

 private:
  int last_ = -1;              // the class of the last character
  int indicators_ = 0;         // regional indicators before this character
  bool pictographic_ = false;  // an emoji, and extending characters behind it
  bool joined_ = false;        // ... and a joiner
};

}  // namespace levin::data::tokenizers
