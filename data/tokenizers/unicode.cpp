#include <levin/data/tokenizers/unicode.h>

#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/utf16.h>

#include <array>

namespace levin::data::tokenizers {
namespace {

UChar32 icu_code(char32_t code) { return static_cast<UChar32>(code); }

uint32_t category_of(char32_t code) { return U_GET_GC_MASK(icu_code(code)); }

/// Returns whether a character was assigned in this version of Unicode.
bool is_known_in(char32_t code, int version) {
  UVersionInfo age = {};
  u_charAge(icu_code(code), age);
  return age[0] < version || (age[0] == version && age[1] == 0);
}

constexpr int kCategories = 8, kMarks = 9, kNormalization = 11;

const UNormalizer2* normalizer_of(bool compatibility) {
  UErrorCode error = U_ZERO_ERROR;
  static const UNormalizer2* const canonical = unorm2_getNFCInstance(&error);
  static const UNormalizer2* const compatible = unorm2_getNFKCInstance(&error);
  return compatibility ? compatible : canonical;
}

}  // namespace

bool is_space(char32_t code) {
  if (code < 0x80) return code == ' ' || (code >= 9 && code <= 13);
  return u_hasBinaryProperty(icu_code(code), UCHAR_WHITE_SPACE) != 0;
}

bool is_numeric(char32_t code) {
  if (code < 0x80) return code >= '0' && code <= '9';
  return (category_of(code) & (U_GC_ND_MASK | U_GC_NL_MASK | U_GC_NO_MASK)) != 0;
}

bool is_word(char32_t code) {
  if (code < 0x80) {
    return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') || (code >= '0' && code <= '9') || code == '_';
  }
  return (category_of(code) & (U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)) != 0 ||
         u_hasBinaryProperty(icu_code(code), UCHAR_ALPHABETIC) ||
         u_hasBinaryProperty(icu_code(code), UCHAR_JOIN_CONTROL);
}

bool is_punctuation(char32_t code) {
  if (code < 0x80) {
    return (code >= '!' && code <= '/') || (code >= ':' && code <= '@') || (code >= '[' && code <= '`') ||
           (code >= '{' && code <= '~');
  }
  if (code == 0x166D || code == 0x111C9) return true;  // in Unicode 8
  return (category_of(code) & U_GC_P_MASK) != 0 && is_known_in(code, kCategories);
}

bool is_other(char32_t code) {
  if (code < 0x80) return code < 0x20 || code == 0x7F;
  return (category_of(code) & (U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK)) != 0 && is_known_in(code, kCategories);
}

bool is_nonspacing_mark(char32_t code) {
  if (code < 0x300) return false;
  if (code == 0x1885 || code == 0x1886 || code == 0xA9BD || code == 0x111C9) return false;  // in Unicode 8
  if (code == 0x1734) return true;
  return (category_of(code) & U_GC_MN_MASK) != 0 && is_known_in(code, kCategories);
}

bool is_mark(char32_t code) {
  if (code < 0x300) return false;
  if (code == 0x1CF2 || code == 0x1CF3) return true;  // in Unicode 9
  return (category_of(code) & U_GC_M_MASK) != 0 && code != 0x111C9 && is_known_in(code, kMarks);
}

bool is_chinese(char32_t code) {
  const auto in = [code](char32_t first, char32_t last) { return code >= first && code <= last; };
  return in(0x4E00, 0x9FFF) || in(0x3400, 0x4DBF) || in(0x20000, 0x2A6DF) || in(0x2A700, 0x2B73F) ||
         in(0x2B740, 0x2B81F) || in(0x2B920, 0x2CEAF) || in(0xF900, 0xFAFF) || in(0x2F800, 0x2FA1F);
}

int lower_case(char32_t code, char32_t* out) {
  if (code == 0x130) {  // the one whose lower case is two characters
    out[0] = 'i';
    out[1] = 0x307;
    return 2;
  }
  out[0] =
      code < 0x80 ? code + (code >= 'A' && code <= 'Z' ? 32U : 0U) : static_cast<char32_t>(u_tolower(icu_code(code)));
  return 1;
}

int decompose(char32_t code, bool compatibility, char32_t* out) {
  if (code < 0xA0) return 0;
  std::array<UChar, 2 * kMostDecomposed> units = {};
  UErrorCode error = U_ZERO_ERROR;
  const int32_t length = unorm2_getDecomposition(normalizer_of(compatibility), icu_code(code), units.data(),
                                                 static_cast<int32_t>(units.size()), &error);
  if (length < 0 || U_FAILURE(error) || !is_known_in(code, kNormalization)) return 0;
  int count = 0;
  for (int32_t i = 0; i < length && count < kMostDecomposed;) {
    UChar32 next = 0;
    U16_NEXT(units.data(), i, length, next);
    out[count++] = static_cast<char32_t>(next);
  }
  return count;
}

uint8_t combining_class(char32_t code) {
  if (code < 0x300) return 0;
  const uint8_t value = u_getCombiningClass(icu_code(code));
  return value != 0 && is_known_in(code, kNormalization) ? value : 0;
}

char32_t compose(char32_t first, char32_t second) {
  const UChar32 both = unorm2_composePair(normalizer_of(false), icu_code(first), icu_code(second));
  return both < 0 || !is_known_in(static_cast<char32_t>(both), kNormalization) ? 0 : static_cast<char32_t>(both);
}

bool GraphemeBreaks::begins(char32_t code) {
  const int now = u_getIntPropertyValue(icu_code(code), UCHAR_GRAPHEME_CLUSTER_BREAK);
  const auto is_control = [](int kind) { return kind == U_GCB_CR || kind == U_GCB_LF || kind == U_GCB_CONTROL; };
  const bool emoji = u_hasBinaryProperty(icu_code(code), UCHAR_EXTENDED_PICTOGRAPHIC) != 0;
  bool breaks = true;
  if (last_ == U_GCB_CR && now == U_GCB_LF) {
    breaks = false;
  } else if (last_ < 0 || is_control(last_) || is_control(now)) {
    breaks = true;
  } else if (last_ == U_GCB_L && (now == U_GCB_L || now == U_GCB_V || now == U_GCB_LV || now == U_GCB_LVT)) {
    breaks = false;
  } else if ((last_ == U_GCB_LV || last_ == U_GCB_V) && (now == U_GCB_V || now == U_GCB_T)) {
    breaks = false;
  } else if ((last_ == U_GCB_LVT || last_ == U_GCB_T) && now == U_GCB_T) {
    breaks = false;
  } else if (now == U_GCB_EXTEND || now == U_GCB_ZWJ || now == U_GCB_SPACING_MARK || last_ == U_GCB_PREPEND) {
    breaks = false;
  } else if (joined_ && emoji) {
    breaks = false;
  } else if (now == U_GCB_REGIONAL_INDICATOR && indicators_ % 2 == 1) {
    breaks = false;
  }
  joined_ = pictographic_ && now == U_GCB_ZWJ;
  pictographic_ = emoji || (pictographic_ && now == U_GCB_EXTEND);
  indicators_ = now == U_GCB_REGIONAL_INDICATOR ? indicators_ + 1 : 0;
  last_ = now;
  return breaks;
}

}  // namespace levin::data::tokenizers
