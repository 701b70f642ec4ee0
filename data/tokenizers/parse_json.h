#pragma once
#include <levin/data/tokenizers/json_fields.h>

#include <string>
#include <string_view>

namespace levin::data::tokenizers {

/// Parses the JSON of a tokenizer's file. Numbers with a fraction get the values that serde_json, the parser of the
/// package tokenizers, gives them: it rounds twice, and the last bit of scores decides between equally good encodings.
/// Throws levin::UsageError with the prefix `name`.
Json parse_tokenizer_json(std::string_view text, const std::string& name);

/// Returns the value of a JSON number as serde_json does, without its feature float_roundtrip: its digits, as far as
/// they fit into 64 bits, times or divided by a power of ten.
double value_of_number(std::string_view number);

}  // namespace levin::data::tokenizers
