#pragma once
#include <levin/trainer/core/option_type.h>

#include <optional>
#include <string>
#include <vector>

namespace levin::cli {

/// A piece of a config's text: literal, or what stands between `${` and `}`.
struct TextPiece {
  std::string text = {};
  bool is_reference = false;
};

/// The pieces of a text; `$${` in it is a literal `${`. Throws UsageError for a `${` without its `}`.
std::vector<TextPiece> pieces_of(const std::string& text);

/// True where pieces_of finds a reference or a `$${`.
bool has_reference(const std::string& text);

/// NAME of the reference `env:NAME`; nothing for a path of the config.
std::optional<std::string> environment_name(const std::string& reference);

/// Throws UsageError for bytes that are not UTF-8 text, which JSON cannot hold.
void require_utf8(const std::string& text);

/// What the environment holds. Throws UsageError where there is no such variable, or no UTF-8 text in it.
std::string environment_value(const std::string& name);

/// `text` with every `${env:NAME}` replaced; as it is where it has another reference or a variable is missing.
std::string with_environment(const std::string& text);

/// The JSON with `$${` for every `${` in its texts, so that it can be read as a config.
Json with_escaped_references(Json json);

}  // namespace levin::cli
