#pragma once
#include <levin/core/options/option_type.h>

#include <optional>
#include <string>
#include <vector>

namespace levin::cli {

/// A piece of a config's text: a literal, or the text between `${` and `}`.
struct TextPiece {
  std::string text = {};
  bool is_reference = false;
};

/// Splits a text into pieces; `$${` is a literal `${`. Throws UsageError for a `${` without a `}`.
std::vector<TextPiece> pieces_of(const std::string& text);

/// Returns whether a text has a reference or a `$${`.
bool has_reference(const std::string& text);

/// Returns NAME for the reference `env:NAME`; nullopt for a path of the config.
std::optional<std::string> environment_name(const std::string& reference);

/// Throws UsageError for text that is not UTF-8, which JSON cannot hold.
void require_utf8(const std::string& text);

/// Returns the value of an environment variable. Throws UsageError if it is not set or not UTF-8 text.
std::string environment_value(const std::string& name);

/// Returns `text` with every `${env:NAME}` replaced; unchanged if it has another reference or a variable is missing.
std::string with_environment(const std::string& text);

/// Returns the JSON with `$${` for every `${` in its texts, so that it can be read as a config.
Json with_escaped_references(Json json);

}  // namespace levin::cli
