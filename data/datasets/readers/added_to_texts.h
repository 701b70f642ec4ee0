#pragma once
#include <levin/data/tokenizer.h>

#include <cstdint>
#include <vector>

namespace levin::data {

/// The tokens that a tokenizer adds to any single text, such as [CLS] and [SEP].
struct AddedToTexts {
  std::vector<int32_t> before = {}, behind = {};
};

AddedToTexts added_to_texts(const Tokenizer& tokenizer);

}  // namespace levin::data
