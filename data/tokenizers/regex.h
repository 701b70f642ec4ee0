#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace levin::data::tokenizers {

/// A regular expression that many threads may use at a time, by PCRE2, compiled to machine code where PCRE2 can.
class Regex {
 public:
  /// `pattern`: in Oniguruma's syntax, as a tokenizer's file has it. Throws levin::UsageError with the prefix `place`.
  Regex(std::string_view pattern, const std::string& place);

  /// Finds the first match in UTF-8 text that begins at `from` or later, and sets [begin, end). Throws
  /// levin::UsageError if the expression takes too many steps.
  bool find(std::string_view text, size_t from, size_t& begin, size_t& end) const;

 private:
  struct Code;

  std::shared_ptr<const Code> code_;
};

}  // namespace levin::data::tokenizers
