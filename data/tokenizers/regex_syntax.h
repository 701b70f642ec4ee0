#pragma once
#include <string>
#include <string_view>

namespace levin::data::tokenizers {

/// Returns a regular expression of Oniguruma (Ruby's syntax), which the package tokenizers uses, as one of PCRE2.
/// Throws levin::UsageError with the prefix `place` for what means something else in PCRE2 and is not translated.
/// Source: Oniguruma's doc/RE; pcre2pattern(3).
std::string pcre2_syntax(std::string_view pattern, const std::string& place);

}  // namespace levin::data::tokenizers
