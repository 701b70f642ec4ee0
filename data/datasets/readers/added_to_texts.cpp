#include <levin/data/datasets/readers/added_to_texts.h>

#include <algorithm>

namespace levin::data {

AddedToTexts added_to_texts(const Tokenizer& tokenizer) {
  const Encoding example =
      tokenizer.encode("a", {.add_special_tokens = true, .with_offsets = false, .truncate = false});
  const auto is_added = [](uint8_t added) { return added != 0; };
  const auto& mask = example.special_tokens_mask;
  const auto before = std::ranges::find_if_not(mask, is_added) - mask.begin();
  const auto behind = std::ranges::find_if(mask.begin() + before, mask.end(), is_added) - mask.begin();
  return {.before = {example.ids.begin(), example.ids.begin() + before},
          .behind = {example.ids.begin() + behind, example.ids.end()}};
}

}  // namespace levin::data
