#pragma once
#include <levin/data/tokenizers/json_fields.h>

#include <cstdint>

namespace levin::data::tokenizers {

/// When Metaspace writes its character before a piece.
enum class PrependScheme : uint8_t { First, Never, Always };

/// The options of Metaspace, a pre-tokenizer and a decoder.
struct MetaspaceOptions {
  /// Reads them, in the older form with `add_prefix_space` too.
  explicit MetaspaceOptions(const JsonFields& fields);

  char32_t replacement = U'▁';
  PrependScheme scheme = PrependScheme::Always;
  bool split = true;
};

}  // namespace levin::data::tokenizers
