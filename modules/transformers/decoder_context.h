#pragma once
#include <levin/modules/transformers/attention_mask.h>
#include <levin/modules/transformers/key_value_cache.h>
#include <levin/modules/transformers/rotary_embedding.h>

#include <cstdint>
#include <map>
#include <vector>

namespace levin::nn {

/// What the blocks of a decoder need to know of the tokens besides their values.
struct DecoderContext {
  std::vector<RotaryAngles> angles = {};        ///< of each rope
  std::map<int64_t, AttentionMask> masks = {};  ///< by the window; 0: that of layers without one
  KeyValueCache* cache = nullptr;
};

}  // namespace levin::nn
