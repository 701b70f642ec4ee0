#define PCRE2_CODE_UNIT_WIDTH 8
#include <levin/data/tokenizers/regex_syntax.h>
#include <levin/core/system/error.h>

#include <pcre2.h>

#include <array>
#include <cctype>
#include <vector>

namespace levin::data::tokenizers {
namespace {

// What the classes of Oniguruma hold, as the inside of a class of PCRE2, and all else.
constexpr std::string_view kSpaces =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
constexpr std::string_view kNoSpaces =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027})"
    R"(\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff})";
constexpr std::string_view kWord = R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24b6}-\x{24e9})"
                                   R"(\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189})";
// Outside of classes Oniguruma takes six numbers of Latin-1 for parts of words too.
constexpr std::string_view kWordNumbers = R"(\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";

constexpr std::array<std::string_view, 39> kCategoryNames = {
    "L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "Mn", "Mc", "Me", "N",  "Nd",  "Nl",
    "No", "P",  "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S",  "Sm", "Sc",  "Sk",
    "So", "Z",  "Zs", "Zl", "Zp", "C",  "Cc", "Cf", "Cs", "Co", "Cn", "Any", "L&"};

// Since 10.40 PCRE2 takes a script's name for its extensions too, which Oniguruma does not.
constexpr std::string_view kScript = PCRE2_MAJOR > 10 || PCRE2_MINOR >= 40 ? "sc:" : "";

/// Reads a pattern from the left and writes its translation.
class Translator {
 public:
  Translator(std::string_view pattern, const std::string& place) : pattern_(pattern), place_(place) {}

  std::string translate() {
    while (!at_end()) {
      const char c = next();
      if (c == '\\') {
        out_ += escape(false);
      } else if (c == '[') {
        out_ += character_class();
      } else if (c == '(' && peek() == '?') {
        group();
      } else if (c == '}' || c == '{') {
        brace(c);
      } else {
        out_ += c;
      }
    }
    return std::move(out_);
  }

 private:
  bool at_end() const { return position_ >= pattern_.size(); }
  char peek() const { return at_end() ? '\0' : pattern_[position_]; }
  char next() {
    if (at_end()) fail("ends too early");
    return pattern_[position_++];
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw UsageError(place_, ": the regular expression ", what, " at byte ", position_, " of '",
                     std::string(pattern_.substr(0, 200)), "'");
  }

  /// A repetition in braces; one with a + behind it repeats the repetition, and is not possessive as in PCRE2.
  void brace(char c) {
    out_ += c;
    if (c == '}' && peek() == '+')
      fail("has a repetition in braces with a + behind it, which levin does not translate,");
  }

  /// What stands behind "(?".
  void group() {
    const std::string_view rest = pattern_.substr(position_ + 1);
    for (const std::string_view known : {":", "=", "!", ">", "<=", "<!", "#", "i:", "i)", "-i:", "-i)"}) {
      if (!rest.starts_with(known)) continue;
      if (known == "#") fail("has a comment, which levin does not translate,");
      out_ += "(?";
      out_ += known;
      position_ += 1 + known.size();
      return;
    }
    if (rest.starts_with("<")) {  // a name
      out_ += "(?<";
      position_ += 2;
      return;
    }
    fail("has a group of a kind that levin does not translate");
  }

  /// What stands behind a backslash; the result fits inside a class if `in_class`.
  std::string escape(bool in_class) {
    const auto wrapped = [in_class](std::string_view inside, bool negated = false) {
      return in_class ? std::string(inside) : (negated ? "[^" : "[") + std::string(inside) + "]";
    };
    const char c = next();
    switch (c) {
      case 's':
        return wrapped(kSpaces);
      case 'S':
        return in_class ? std::string(kNoSpaces) : wrapped(kSpaces, true);
      case 'w':
        return wrapped(std::string(kWord).append(in_class ? "" : kWordNumbers));
      case 'W':
        if (in_class) fail("has \\W inside a class, which levin does not translate,");
        return wrapped(std::string(kWord).append(kWordNumbers), true);
      case 'd':
        return "\\p{Nd}";
      case 'D':
        return "\\P{Nd}";
      case 'h':
        return wrapped("0-9a-fA-F");
      case 'H':
        if (in_class) fail("has \\H inside a class, which levin does not translate,");
        return wrapped("0-9a-fA-F", true);
      case 'p':
      case 'P':
        return property(c == 'P');
      case 'A':
      case 'z':
      case 'Z':
        if (in_class) break;
        return std::string("\\") + c;
      case 'x':
      case 'u':
        return code(c);
      case 'n':
      case 'r':
      case 't':
      case 'f':
      case 'a':
      case 'e':
        return std::string("\\") + c;
      case 'v':
        return "\\x{b}";
      case '0':
        return "\\x{0}";
      default:
        break;
    }
    if (std::isalnum(static_cast<unsigned char>(c))) {
      fail(std::string("has \\") + c + ", which levin does not translate,");
    }
    if (static_cast<unsigned char>(c) >= 0x80) return std::string(1, c);
    return std::string("\\") + c;
  }

  /// \p{...}: categories and scripts.
  std::string property(bool negated) {
    if (next() != '{') fail("has \\p without braces");
    const size_t end = pattern_.find('}', position_);
    if (end == std::string_view::npos) fail("has \\p{ without its end");
    std::string name(pattern_.substr(position_, end - position_));
    position_ = end + 1;
    if (name.starts_with("^")) {
      negated = !negated;
      name.erase(0, 1);
    }
    const std::string begin = negated ? "\\P{" : "\\p{";
    for (const std::string_view known : kCategoryNames) {
      if (name == known) return begin + name + "}";
    }
    constexpr std::array<std::array<std::string_view, 2>, 7> kLong = {{{"Letter", "L"},
                                                                       {"Mark", "M"},
                                                                       {"Number", "N"},
                                                                       {"Punctuation", "P"},
                                                                       {"Symbol", "S"},
                                                                       {"Separator", "Z"},
                                                                       {"Other", "C"}}};
    for (const auto& [known, category] : kLong) {
      if (name == known) return begin + std::string(category) + "}";
    }
    for (const char c : name) {
      if (!std::isalpha(static_cast<unsigned char>(c)) && c != '_')
        fail("has a \\p{...} that levin does not translate,");
    }
    for (const std::string_view other : {"Alnum", "Alpha", "ASCII", "Blank", "Cntrl", "Digit", "Graph", "Lower",
                                         "Print", "Punct", "Space", "Upper", "Word", "XDigit", "Assigned"}) {
      if (name == other) fail("has \\p{" + name + "}, which levin does not translate,");
    }
    return begin + std::string(kScript) + name + "}";
  }

  /// \xHH, \x{H...} and \uHHHH.
  std::string code(char kind) {
    std::string digits;
    if (kind == 'x' && peek() == '{') {
      next();
      while (peek() != '}') digits += next();
      next();
    } else {
      const size_t most = kind == 'x' ? 2 : 4;
      while (digits.size() < most && std::isxdigit(static_cast<unsigned char>(peek()))) digits += next();
      if (kind == 'u' && digits.size() != 4) fail("has \\u without four digits");
    }
    for (const char c : digits) {
      if (!std::isxdigit(static_cast<unsigned char>(c))) fail("has a code that is not hexadecimal");
    }
    if (digits.empty() || digits.size() > 6) fail("has a code that is no character");
    return "\\x{" + digits + "}";
  }

  /// The rest of a class behind '[': its parts between && follow each other as lookaheads, the last one takes the
  /// character.
  std::string character_class() {
    const bool negated = peek() == '^';
    if (negated) next();
    std::vector<std::string> parts;
    std::vector<std::string> nested;  // classes inside the part, of which one is enough
    std::string inside;
    bool first = true;
    const auto end_part = [&] {
      if (!inside.empty()) nested.push_back("[" + inside + "]");
      if (nested.empty()) fail("has a class with nothing in it");
      std::string part = nested.front();
      for (size_t i = 1; i < nested.size(); ++i) part += "|" + nested[i];
      parts.push_back(nested.size() == 1 ? part : "(?:" + part + ")");
      nested.clear();
      inside.clear();
    };
    for (;; first = false) {
      const char c = next();
      if (c == ']' && !first) break;
      if (c == '[') {
        if (peek() == ':') fail("has a class of POSIX, which levin does not translate,");
        if (++depth_ > 20) fail("has classes that are nested too deeply");
        nested.push_back(character_class());
        --depth_;
      } else if (c == '&' && peek() == '&') {
        next();
        end_part();
      } else if (c == '\\') {
        inside += escape(true);
      } else if (c == ']') {
        inside += "\\]";
      } else {
        inside += c;
      }
    }
    if (parts.empty() && nested.empty()) return (negated ? "[^" : "[") + inside + "]";
    end_part();
    std::string all = parts.back();
    for (size_t i = 0; i + 1 < parts.size(); ++i) all.insert(0, "(?=" + parts[i] + ")");
    return negated ? "(?:(?!" + all + ")(?s:.))" : "(?:" + all + ")";
  }

  std::string_view pattern_;
  const std::string& place_;
  size_t position_ = 0;
  int depth_ = 0;
  std::string out_ = {};
};

}  // namespace

std::string pcre2_syntax(std::string_view pattern, const std::string& place) {
  return Translator(pattern, place).translate();
}

}  // namespace levin::data::tokenizers
