#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace levin::data::tokenizers {

/// The characters that byte-level models have for bytes: printable ones of Latin-1 are themselves, others follow from
/// U+0100. Source: GPT-2's encoder.

/// Returns a byte's character in UTF-8.
std::string_view byte_level_text(unsigned char byte);
/// Returns the byte of a character; -1 if it is that of none.
int byte_of_character(char32_t code);
/// Sets `bytes` to those that a token of a byte-level model stands for. Returns false if a character is that of no
/// byte.
bool bytes_of_token(std::string_view token, std::string& bytes);

}  // namespace levin::data::tokenizers
